#include "model/attention/kda.hpp"

#include "model/attention/recurrence.hpp"

namespace roofcast {
namespace {

constexpr double kChunk = 64.0;

}  // namespace

MixerParameters KimiDeltaAttention::parameters(double hidden_dim) const {
  const auto heads = static_cast<double>(n_heads);
  const auto dim = static_cast<double>(head_dim);
  const double width = heads * dim;
  const double low_rank = hidden_dim * dim + dim * width;
  MixerParameters p;
  // q, k, v, output; decay; write strength; gate.
  p.matrices = 4.0 * hidden_dim * width + low_rank + hidden_dim * heads +
               (full_rank_gate ? hidden_dim * width : low_rank);
  p.vectors = 3.0 * width * static_cast<double>(conv_kernel) + heads + width + dim;
  return p;
}

CacheElements KimiDeltaAttention::cache(double) const {
  const auto width = static_cast<double>(n_heads * head_dim);
  return {.state = width * static_cast<double>(head_dim),
          .conv_state = convolution_state(3.0 * width, static_cast<double>(conv_kernel))};
}

void KimiDeltaAttention::append_operators(OperatorBuilder& b) const {
  const double heads = shard(static_cast<double>(n_heads), cache_shards(b.tp()).state);
  const auto dim = static_cast<double>(head_dim);
  const auto kernel = static_cast<double>(conv_kernel);
  const double width = heads * dim;
  b.gemm("delta_qkv_proj", Component::attention, 3.0 * width, b.hidden_dim());
  // The narrow halves of low-rank projections are whole on every rank.
  const double low_rank_inputs = full_rank_gate ? dim : 2.0 * dim;
  const double full_rank_rows = full_rank_gate ? width : 0.0;
  b.gemm("delta_gate_down_proj", Component::attention, low_rank_inputs + heads + full_rank_rows,
         b.hidden_dim());
  b.gemm("delta_decay_up_proj", Component::attention, width, dim);
  if (!full_rank_gate) b.gemm("delta_gate_up_proj", Component::attention, width, dim);
  append_short_convolution("delta_conv", 3.0 * width, kernel, 3.0 * width * kernel, b);
  append_recurrence("delta_recurrence",
                    {.heads = heads,
                     .state_elements = width * dim,
                     .io_elements = 5.0 * width + heads,  // q, k, v, decay in; output out
                     .parameters = heads + width,
                     .decode_flops = heads * delta_step_flops(dim, dim),
                     .chunk_flops = heads * delta_chunk_flops(dim, dim, kChunk),
                     .chunk = kChunk},
                    b);
  Operator& norm = b.elementwise("delta_gated_norm", 3.0 * b.tokens() * width);
  norm.bytes.weights = {dim * b.activation_bytes()};
  b.gemm("attn_out_proj", Component::attention, b.hidden_dim(), width);
  b.all_reduce("attn_all_reduce");
}

}  // namespace roofcast
