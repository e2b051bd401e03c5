#pragma once

#include "microbench/shared/cpu_bench.hpp"

namespace roofcast {

/// Routed experts of one layer: gated blocks of `expert_dim`, of which each of `batch` tokens uses
/// `per_token`.
struct MoeShape {
  std::int64_t experts = 0;
  std::int64_t per_token = 0;
  std::int64_t hidden_dim = 0;
  std::int64_t expert_dim = 0;
  std::int64_t batch = 1;
};

/// The reference engine's routed experts with weights that come from memory, routed at random.
/// Throws std::invalid_argument when one thread's weights exceed its slab.
CpuBench moe_bench(CpuEnvironment& environment, const MoeShape& shape);

}  // namespace roofcast
