#pragma once

#include "microbench/shared/cpu_bench.hpp"

namespace roofcast {

/// Nodes without work: what remains is the barrier after each.
CpuBench barrier_bench(CpuEnvironment& environment);

/// Seconds from the call of a parallel region to its return when it does nothing: waking the
/// threads and waiting for them. A step pays this once, a program without a region per step would
/// pay it per operator.
TimingSummary time_region(CpuEnvironment& environment, const StoppingRule& rule);

}  // namespace roofcast
