#include "model/attention/mamba2.hpp"

#include "model/attention/recurrence.hpp"

namespace roofcast {
namespace {

constexpr double kChunk = 128.0;

/// Widths on one of `ranks` ranks. Groups split over at most as many ranks as there are groups.
struct Widths {
  double heads;
  double inner;
  double groups;
  double conv;
};

Widths widths(const Mamba2& m, double ranks) {
  const auto all_groups = static_cast<double>(m.n_groups);
  const double heads = shard(static_cast<double>(m.n_heads), ranks);
  const double inner = heads * static_cast<double>(m.head_dim);
  const double groups = shard(all_groups, std::min(ranks, all_groups));
  return {heads, inner, groups, inner + 2.0 * groups * static_cast<double>(m.state_dim)};
}

double taps(const Mamba2& m, double channels) {
  return channels * (static_cast<double>(m.conv_kernel) + (m.conv_bias ? 1.0 : 0.0));
}

}  // namespace

MixerParameters Mamba2::parameters(double hidden_dim) const {
  const Widths w = widths(*this, 1.0);
  MixerParameters p;
  // Gate, convolved inputs (x, B, C), time steps; output.
  p.matrices = hidden_dim * (w.inner + w.conv + w.heads + w.inner);
  p.vectors = taps(*this, w.conv) + 3.0 * w.heads + w.inner;
  return p;
}

CacheElements Mamba2::cache(double) const {
  const Widths w = widths(*this, 1.0);
  return {.state = w.inner * static_cast<double>(state_dim),
          .conv_state = convolution_state(w.conv, static_cast<double>(conv_kernel))};
}

void Mamba2::append_operators(OperatorBuilder& b) const {
  const Widths w = widths(*this, cache_shards(b.tp()).state);
  const auto dim = static_cast<double>(head_dim);
  const auto state = static_cast<double>(state_dim);
  b.gemm("ssm_in_proj", Component::attention, w.inner + w.conv + w.heads, b.hidden_dim());
  append_short_convolution("ssm_conv", w.conv, static_cast<double>(conv_kernel),
                           taps(*this, w.conv), b);
  // The C B^T product of a chunk is made once per group, the rest per head.
  const double shared = 2.0 * kChunk * state;
  append_recurrence("ssm_recurrence",
                    {.heads = w.heads,
                     .state_elements = w.inner * state,
                     .io_elements = w.conv + w.inner + w.heads,
                     .parameters = 3.0 * w.heads,
                     .decode_flops = w.heads * linear_step_flops(state, dim),
                     .chunk_flops = w.heads * (linear_chunk_flops(state, dim, kChunk) - shared) +
                                    w.groups * shared,
                     .chunk = kChunk},
                    b);
  Operator& norm = b.elementwise("ssm_gated_norm", 3.0 * b.tokens() * w.inner);
  norm.bytes.weights = {w.inner * b.activation_bytes()};
  b.gemm("attn_out_proj", Component::attention, b.hidden_dim(), w.inner);
  b.all_reduce("attn_all_reduce");
}

}  // namespace roofcast
