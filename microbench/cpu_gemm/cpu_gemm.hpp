#pragma once

#include "microbench/shared/cpu_bench.hpp"

namespace roofcast {

/// y (batch, n) = x (batch, k) W^T in bf16.
struct GemmShape {
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
};

/// The reference engine's GEMM on weights that come from memory. Throws std::invalid_argument when
/// one thread's weights exceed its slab.
CpuBench gemm_bench(CpuEnvironment& environment, const GemmShape& shape);

}  // namespace roofcast
