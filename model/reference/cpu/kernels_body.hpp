#pragma once

#include "model/reference/cpu/attention_body.hpp"
#include "model/reference/cpu/elementwise_body.hpp"
#include "model/reference/cpu/gemm_body.hpp"
#include "model/reference/cpu/latent_attention_body.hpp"

namespace roofcast::detail {

/// All kernels of the vector type S.
template <typename S>
Kernels make_kernels(IsaLevel isa) {
  return {.isa = isa,
          .gemm = gemm<S>,
          .attend = attend<S>,
          .attend_latents = attend_latents<S>,
          .score_index = score_index<S>,
          .add_norm = add_norm<S>,
          .rotate_head = rotate_head<S>,
          .activate = activate<S>,
          .weighted_sum = weighted_sum<S>,
          .dot = dot<S>,
          .argmax = argmax<S>,
          .read = S::read,
          .dot_burst = dot_burst<S>,
          .dot_flops_per_round = dot_flops_per_round<S>()};
}

}  // namespace roofcast::detail
