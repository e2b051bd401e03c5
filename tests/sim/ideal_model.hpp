#pragma once

#include <limits>

#include "sim/cost_model.hpp"

namespace roofcast::test {

/// The classic roofline of a machine with this bandwidth (bytes/s) and compute peak (FLOP/s) in
/// every format: max of memory and compute time per operator, no fixed costs.
inline CostModel ideal_model(double bandwidth, double flops) {
  CostModel model;
  model.norm_exponent = std::numeric_limits<double>::infinity();
  for (PrimitiveCost& primitive : model.primitives) {
    primitive.bandwidth.fill(bandwidth);
    primitive.flops.fill(flops);
  }
  model.peak_bandwidth = bandwidth;
  model.peak_flops.fill(flops);
  return model;
}

/// Constants in the range that kernel fits give for a 132-SM GPU; the point is that every term is
/// on.
inline CostModel gpu_like_model() {
  CostModel model;
  for (PrimitiveCost& primitive : model.primitives) {
    primitive.bandwidth.fill(3.1e12);
    primitive.fixed_s = 1.3e-6;
    primitive.flops.fill(9e14);
    primitive.low = filled(0.9);
    primitive.high = filled(1.2);
  }
  model.all_reduce = {{4e-6}, {1e-7}, {2.6e11}, {7e-6}, {2e-7}, {2.8e11}};
  model.row_tile = 64.0;
  model.context_tile = 128.0;
  model.mla_context_tile = 64.0;
  model.mla_head_tile = 16.0;
  model.units = 132.0;
  model.gemm_sqrt_k_s = 1.2e-6;
  model.attention_kv_head_s = 1e-6;
  model.attention_head_s = 4e-8;
  model.mla_head_block_s = 3e-6;
  model.moe_io_bandwidth = 1e12;
  model.peak_bandwidth = 3.35e12;
  model.peak_flops.fill(989e12);
  return model;
}

}  // namespace roofcast::test
