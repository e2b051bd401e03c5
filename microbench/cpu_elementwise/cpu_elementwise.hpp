#pragma once

#include "microbench/shared/cpu_bench.hpp"

namespace roofcast {

/// Norm with residual add of (batch, width); sequences are shared among threads.
CpuBench norm_bench(CpuEnvironment& environment, std::int64_t batch, std::int64_t width);

/// Gated activation of (batch, width); columns are shared among threads.
CpuBench activation_bench(CpuEnvironment& environment, std::int64_t batch, std::int64_t width);

/// Rotary embedding of (batch, heads, head_dim); sequences and heads are shared among threads.
CpuBench rotary_bench(CpuEnvironment& environment, std::int64_t batch, std::int64_t heads,
                      std::int64_t head_dim);

}  // namespace roofcast
