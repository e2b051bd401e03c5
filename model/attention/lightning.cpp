#include "model/attention/lightning.hpp"

#include "model/attention/recurrence.hpp"

namespace roofcast {
namespace {

constexpr double kChunk = 256.0;

}  // namespace

MixerParameters LightningAttention::parameters(double hidden_dim) const {
  const auto width = static_cast<double>(n_heads * head_dim);
  return {.matrices = 5.0 * hidden_dim * width, .vectors = width};
}

CacheElements LightningAttention::cache(double) const {
  return {.state = static_cast<double>(n_heads * head_dim * head_dim)};
}

void LightningAttention::append_operators(OperatorBuilder& b) const {
  const double heads = shard(static_cast<double>(n_heads), cache_shards(b.tp()).state);
  const auto dim = static_cast<double>(head_dim);
  const double width = heads * dim;
  b.gemm("qkv_proj", Component::attention, 3.0 * width, b.hidden_dim());
  append_recurrence("linear_recurrence",
                    {.heads = heads,
                     .state_elements = width * dim,
                     .io_elements = 4.0 * width,
                     .parameters = heads,  // decays
                     .decode_flops = heads * linear_step_flops(dim, dim),
                     .chunk_flops = heads * linear_chunk_flops(dim, dim, kChunk),
                     .chunk = kChunk},
                    b);
  b.gemm("output_gate_proj", Component::attention, width, b.hidden_dim());
  Operator& norm = b.elementwise("gated_norm", 3.0 * b.tokens() * width);
  norm.bytes.weights = {width * b.activation_bytes()};
  b.gemm("attn_out_proj", Component::attention, b.hidden_dim(), width);
  b.all_reduce("attn_all_reduce");
}

}  // namespace roofcast
