#include "model/attention/gated_delta.hpp"

#include "model/attention/recurrence.hpp"

namespace roofcast {
namespace {

constexpr double kChunk = 64.0;

/// Widths on one of `ranks` ranks; the whole layer for ranks = 1.
struct Widths {
  double value_heads;
  double key;    // of q and of k
  double value;  // of v, of the gate and of the output
  double conv() const { return 2.0 * key + value; }
};

Widths widths(const GatedDeltaNet& g, double ranks) {
  const double key_heads = shard(static_cast<double>(g.n_key_heads), ranks);
  const double value_heads = shard(static_cast<double>(g.n_value_heads), ranks);
  return {value_heads, key_heads * static_cast<double>(g.key_head_dim),
          value_heads * static_cast<double>(g.value_head_dim)};
}

}  // namespace

MixerParameters GatedDeltaNet::parameters(double hidden_dim) const {
  const Widths w = widths(*this, 1.0);
  MixerParameters p;
  // q, k, v, gate; write strength and decay per value head; output.
  p.matrices = hidden_dim * (w.conv() + w.value + 2.0 * w.value_heads + w.value);
  p.vectors = w.conv() * static_cast<double>(conv_kernel) + 2.0 * w.value_heads +
              static_cast<double>(value_head_dim);
  return p;
}

CacheElements GatedDeltaNet::cache(double) const {
  const Widths w = widths(*this, 1.0);
  return {.state = w.value * static_cast<double>(key_head_dim),
          .conv_state = convolution_state(w.conv(), static_cast<double>(conv_kernel))};
}

void GatedDeltaNet::append_operators(OperatorBuilder& b) const {
  const Widths w = widths(*this, cache_shards(b.tp()).state);
  const auto key_dim = static_cast<double>(key_head_dim);
  const auto value_dim = static_cast<double>(value_head_dim);
  const auto kernel = static_cast<double>(conv_kernel);
  b.gemm("delta_qkvz_proj", Component::attention, w.conv() + w.value, b.hidden_dim());
  b.gemm("delta_ba_proj", Component::attention, 2.0 * w.value_heads, b.hidden_dim());
  append_short_convolution("delta_conv", w.conv(), kernel, w.conv() * kernel, b);
  append_recurrence("delta_recurrence",
                    {.heads = w.value_heads,
                     .state_elements = w.value * key_dim,
                     .io_elements = w.conv() + w.value + 2.0 * w.value_heads,
                     .parameters = 2.0 * w.value_heads,
                     .decode_flops = w.value_heads * delta_step_flops(key_dim, value_dim),
                     .chunk_flops = w.value_heads * delta_chunk_flops(key_dim, value_dim, kChunk),
                     .chunk = kChunk},
                    b);
  Operator& norm = b.elementwise("delta_gated_norm", 3.0 * b.tokens() * w.value);
  norm.bytes.weights = {value_dim * b.activation_bytes()};
  b.gemm("attn_out_proj", Component::attention, b.hidden_dim(), w.value);
  b.all_reduce("attn_all_reduce");
}

}  // namespace roofcast
