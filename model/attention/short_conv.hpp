#pragma once

#include "model/attention/gqa_shape.hpp"

namespace roofcast {

/// Gated short convolution (LFM2): the hidden state is projected to two gates and an input, the
/// gated input is convolved over `conv_kernel` tokens. Its only state is the last kernel - 1
/// inputs.
struct ShortConvolution {
  static constexpr std::string_view kName = "short_conv";
  static constexpr std::string_view kSummary =
      "gated short convolution: keeps the last conv_kernel - 1 inputs";

  std::int64_t conv_dim = 0;  // channels; LFM2: hidden_dim
  std::int64_t conv_kernel = 0;
  bool bias = false;  // on both projections and on the convolution

  bool operator==(const ShortConvolution&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    field("conv_dim", self.conv_dim);
    field("conv_kernel", self.conv_kernel);
    field("bias", self.bias);
  }

  MixerParameters parameters(double hidden_dim) const;
  CacheElements cache(double context) const;
  CacheShards cache_shards(double tp) const { return {.state = tp}; }
  void append_operators(OperatorBuilder& builder) const;
};

}  // namespace roofcast
