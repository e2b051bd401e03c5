#pragma once

#include "model/reference/cpu/attention_body.hpp"
#include "model/reference/cpu/elementwise_body.hpp"
#include "model/reference/cpu/gemm_body.hpp"
#include "model/reference/cpu/gemm_int_body.hpp"
#include "model/reference/cpu/latent_attention_body.hpp"
#include "model/reference/cpu/recurrence_body.hpp"
#include "model/reference/cpu/state_layer_body.hpp"

namespace roofcast::detail {

/// All kernels of the vector type S.
template <typename S>
Kernels make_kernels(IsaLevel isa) {
  return {.isa = isa,
          .gemm = {gemm<S, Bf16Weights<S>>, gemm<S, Fp32Weights<S>>, gemm<S, Fp8Weights<S>>,
                   int_gemm<S, Int8Weights<S>>, int_gemm<S, Int4Weights<S>>},
          .encode = encode<S>,
          .attend = attend<S>,
          .attend_latents = attend_latents<S>,
          .score_index = score_index<S>,
          .add_norm = add_norm<S>,
          .rotate_head = rotate_head<S>,
          .activate = activate<S>,
          .weighted_sum = weighted_sum<S>,
          .recur = recur<S>,
          .convolve = convolve<S>,
          .gated_norm = gated_norm<S>,
          .channel_decays = channel_decays<S>,
          .scan = scan<S>,
          .silu = silu<S>,
          .multiply = multiply<S>,
          .dot = dot<S>,
          .argmax = argmax<S>,
          .read = S::read,
          .dot_burst = dot_burst<S>,
          .dot_flops_per_round = dot_flops_per_round<S>()};
}

}  // namespace roofcast::detail
