#include "model/attention/short_conv.hpp"

#include "model/attention/recurrence.hpp"

namespace roofcast {

MixerParameters ShortConvolution::parameters(double hidden_dim) const {
  const auto dim = static_cast<double>(conv_dim);
  MixerParameters p;
  p.matrices = 4.0 * hidden_dim * dim;
  p.vectors = dim * static_cast<double>(conv_kernel) + (bias ? 4.0 * dim + hidden_dim : 0.0);
  return p;
}

CacheElements ShortConvolution::cache(double) const {
  return {.conv_state =
              convolution_state(static_cast<double>(conv_dim), static_cast<double>(conv_kernel))};
}

void ShortConvolution::append_operators(OperatorBuilder& b) const {
  const double dim = shard(static_cast<double>(conv_dim), b.tp());
  const auto kernel = static_cast<double>(conv_kernel);
  b.gemm("conv_in_proj", Component::attention, 3.0 * dim, b.hidden_dim(), bias ? 3.0 * dim : 0.0);
  append_short_convolution("short_conv", dim, kernel, dim * (kernel + (bias ? 1.0 : 0.0)), b);
  b.elementwise("conv_gates", 4.0 * b.tokens() * dim);  // reads both gates and both inputs
  b.gemm("attn_out_proj", Component::attention, b.hidden_dim(), dim, bias ? b.hidden_dim() : 0.0);
  b.all_reduce("attn_all_reduce");
}

}  // namespace roofcast
