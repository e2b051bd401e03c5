#pragma once

#include "model/attention/gqa_shape.hpp"

namespace roofcast {

/// Kimi Delta Attention (arXiv:2510.26692; Kimi Linear, Kimi K3): the gated delta rule with a decay
/// per key channel. Decay and, unless `full_rank_gate`, output gate are low-rank through head_dim.
struct KimiDeltaAttention {
  static constexpr std::string_view kName = "kda";
  static constexpr std::string_view kSummary =
      "delta rule with a decay per channel: a fixed matrix state per head";

  std::int64_t n_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t conv_kernel = 0;
  bool full_rank_gate = false;

  bool operator==(const KimiDeltaAttention&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    field("n_heads", self.n_heads);
    field("head_dim", self.head_dim);
    field("conv_kernel", self.conv_kernel);
    field("full_rank_gate", self.full_rank_gate);
  }

  MixerParameters parameters(double hidden_dim) const;
  CacheElements cache(double context) const;
  CacheShards cache_shards(double tp) const {
    return {.state = std::min(tp, static_cast<double>(n_heads))};
  }
  void append_operators(OperatorBuilder& builder) const;
};

}  // namespace roofcast
