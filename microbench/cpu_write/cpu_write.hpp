#pragma once

#include "microbench/shared/cpu_bench.hpp"

namespace roofcast {

/// All threads store `bytes` together; windows rotate, so that the lines are in no cache. Streaming
/// stores pass by the caches and need not fetch a line before they change it.
CpuBench write_bench(CpuEnvironment& environment, double bytes);
CpuBench streaming_write_bench(CpuEnvironment& environment, double bytes);

/// The same with values read from memory; `bytes` are what is read and what is written together.
CpuBench copy_bench(CpuEnvironment& environment, double bytes);
CpuBench streaming_copy_bench(CpuEnvironment& environment, double bytes);

}  // namespace roofcast
