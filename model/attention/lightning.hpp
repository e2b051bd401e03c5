#pragma once

#include "model/attention/gqa_shape.hpp"

namespace roofcast {

/// Lightning attention (arXiv:2501.08313; MiniMax-Text-01): linear attention with a fixed decay per
/// head, a norm over all heads and an elementwise output gate.
struct LightningAttention {
  static constexpr std::string_view kName = "lightning";
  static constexpr std::string_view kSummary =
      "linear attention with fixed decay: a head_dim x head_dim state per head";

  std::int64_t n_heads = 0;
  std::int64_t head_dim = 0;

  bool operator==(const LightningAttention&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    field("n_heads", self.n_heads);
    field("head_dim", self.head_dim);
  }

  MixerParameters parameters(double hidden_dim) const;
  CacheElements cache(double context) const;
  CacheShards cache_shards(double tp) const {
    return {.state = std::min(tp, static_cast<double>(n_heads))};
  }
  void append_operators(OperatorBuilder& builder) const;
};

}  // namespace roofcast
