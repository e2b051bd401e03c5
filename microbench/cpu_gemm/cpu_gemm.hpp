#pragma once

#include "microbench/shared/cpu_bench.hpp"
#include "model/reference/cpu/weight_format.hpp"

namespace roofcast {

/// y (batch, n) = x (batch, k) W^T with W in a weight format.
struct GemmShape {
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  WeightFormat format = kBf16Weights;
};

/// The reference engine's GEMM on weights that come from memory. The benchmark is called "gemm",
/// and after the kind of weights where they are not bf16: "gemm_int4". Throws std::invalid_argument
/// when one thread's weights exceed its slab.
CpuBench gemm_bench(CpuEnvironment& environment, const GemmShape& shape);

}  // namespace roofcast
