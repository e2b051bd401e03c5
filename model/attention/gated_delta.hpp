#pragma once

#include "model/attention/gqa_shape.hpp"

namespace roofcast {

/// Gated DeltaNet (arXiv:2412.06464; Qwen3-Next, Qwen3.5): a short convolution over q, k and v, a
/// key_head_dim x value_head_dim state per value head updated by the delta rule with one decay per
/// head, a gated norm and the output projection. Nothing grows with context.
struct GatedDeltaNet {
  static constexpr std::string_view kName = "gated_delta";
  static constexpr std::string_view kSummary =
      "gated delta rule: a fixed matrix state per value head, read and written each step";

  std::int64_t n_key_heads = 0;
  std::int64_t n_value_heads = 0;
  std::int64_t key_head_dim = 0;
  std::int64_t value_head_dim = 0;
  std::int64_t conv_kernel = 0;

  bool operator==(const GatedDeltaNet&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    field("n_key_heads", self.n_key_heads);
    field("n_value_heads", self.n_value_heads);
    field("key_head_dim", self.key_head_dim);
    field("value_head_dim", self.value_head_dim);
    field("conv_kernel", self.conv_kernel);
  }

  MixerParameters parameters(double hidden_dim) const;
  CacheElements cache(double context) const;
  /// Value heads share key heads, so ranks beyond the key heads hold copies.
  CacheShards cache_shards(double tp) const {
    return {.state = std::min(tp, static_cast<double>(n_key_heads))};
  }
  void append_operators(OperatorBuilder& builder) const;
};

}  // namespace roofcast
