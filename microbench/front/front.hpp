#pragma once

#include <functional>
#include <vector>

#include "microbench/shared/cpu_bench.hpp"

namespace roofcast {

/// The points of one benchmark folder.
using MakeBenches = std::function<std::vector<CpuBench>(CpuEnvironment& environment)>;

/// Runs the points under Google Benchmark with manual times: one iteration is as many nodes as last
/// about a millisecond, and the number of iterations is fixed, since growing it by manual time can
/// take hundreds of times longer than asked. Rates use prefixes of 1000. Returns the exit status.
int run_front(int argc, char** argv, const MakeBenches& make);

}  // namespace roofcast
