#pragma once

#include "microbench/shared/cpu_bench.hpp"

namespace roofcast {

/// All threads read `bytes` together, each from its slab; windows rotate, so that data come from
/// memory as long as the slabs exceed the caches.
CpuBench cold_read_bench(CpuEnvironment& environment, double bytes);

/// The same bytes again and again: from the cache that holds them.
CpuBench hot_read_bench(CpuEnvironment& environment, double bytes);

}  // namespace roofcast
