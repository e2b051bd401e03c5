#include "model/attention/mamba1.hpp"

#include "model/attention/recurrence.hpp"

namespace roofcast {
namespace {

double taps(const Mamba1& m, double channels) {
  return channels * (static_cast<double>(m.conv_kernel) + (m.conv_bias ? 1.0 : 0.0));
}

/// Step size of low rank, B and C.
double selection_width(const Mamba1& m) { return static_cast<double>(m.dt_rank + 2 * m.state_dim); }

}  // namespace

MixerParameters Mamba1::parameters(double hidden_dim) const {
  const auto inner = static_cast<double>(inner_dim);
  MixerParameters p;
  p.matrices = 3.0 * hidden_dim * inner + inner * selection_width(*this) +
               static_cast<double>(dt_rank) * inner;
  // Convolution; time step bias, skip and decay per channel and state element.
  p.vectors = taps(*this, inner) + inner * (2.0 + static_cast<double>(state_dim)) +
              (inner_norms ? selection_width(*this) : 0.0);
  return p;
}

CacheElements Mamba1::cache(double) const {
  const auto inner = static_cast<double>(inner_dim);
  return {.state = inner * static_cast<double>(state_dim),
          .conv_state = convolution_state(inner, static_cast<double>(conv_kernel))};
}

void Mamba1::append_operators(OperatorBuilder& b) const {
  const double inner = shard(static_cast<double>(inner_dim), b.tp());
  const auto state = static_cast<double>(state_dim);
  b.gemm("ssm_in_proj", Component::attention, 2.0 * inner, b.hidden_dim());
  append_short_convolution("ssm_conv", inner, static_cast<double>(conv_kernel), taps(*this, inner),
                           b);
  b.gemm("ssm_x_proj", Component::attention, selection_width(*this), inner);
  b.gemm("ssm_dt_proj", Component::attention, inner, static_cast<double>(dt_rank), inner);
  // Per state element: the decay's exponent and product, input product, update, output. A scan
  // keeps the state on chip, whatever the length.
  const double flops = 7.0 * inner * state;
  append_recurrence("ssm_recurrence",
                    {.heads = 1.0,
                     .state_elements = inner * state,
                     .io_elements = 4.0 * inner + 2.0 * state,
                     .parameters = inner * (1.0 + state),
                     .decode_flops = flops,
                     .chunk_flops = flops,
                     .chunk = 0.0},
                    b);
  b.gemm("attn_out_proj", Component::attention, b.hidden_dim(), inner);
  b.all_reduce("attn_all_reduce");
}

}  // namespace roofcast
