#pragma once

#include <vector>

#include "microbench/shared/cpu_bench.hpp"

namespace roofcast {

/// All threads read `bytes` together, each from its slab; windows rotate, so that data come from
/// memory as long as the slabs exceed the caches.
CpuBench cold_read_bench(CpuEnvironment& environment, double bytes);

/// The same bytes again and again: from the cache that holds them.
CpuBench hot_read_bench(CpuEnvironment& environment, double bytes);

/// A cold read by the threads of `readers` alone, while the others wait at the barrier.
CpuBench thread_read_bench(CpuEnvironment& environment, double bytes, Range readers);

/// The threads of each NUMA node; pools order their threads by node. One range when threads are not
/// pinned.
std::vector<Range> threads_by_node(const CpuEnvironment& environment);

}  // namespace roofcast
