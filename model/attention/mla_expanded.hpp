#pragma once

#include "model/attention/mla.hpp"

namespace roofcast {

/// MLA as engines without the absorbed form run it: the latent is expanded to keys and values of
/// all heads, and those are cached, as if it were multi-head attention. llama.cpp does so for
/// DeepSeek GGUF files from before its absorbed form (2025-04), transformers always. Weights are
/// those of MLA; the cache is n_heads * (qk_nope + qk_rope + v) elements per token.
struct ExpandedLatentAttention {
  static constexpr std::string_view kName = "mla_expanded";
  static constexpr std::string_view kSummary =
      "MLA cached as full keys and values of all heads (engines without the absorbed form)";

  MlaShape shape;

  bool operator==(const ExpandedLatentAttention&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    MlaShape::visit_fields(self.shape, field);
  }

  MixerParameters parameters(double hidden_dim) const {
    return roofcast::parameters(shape, hidden_dim);
  }
  CacheElements cache(double context) const { return stored_per_token() * context; }
  CacheShards cache_shards(double tp) const {
    return {.kv = std::min(tp, static_cast<double>(shape.n_heads))};
  }
  void append_operators(OperatorBuilder& builder) const;

 private:
  CacheElements stored_per_token() const {
    return {
        .k = static_cast<double>(shape.n_heads * (shape.qk_nope_head_dim + shape.qk_rope_head_dim)),
        .v = static_cast<double>(shape.n_heads * shape.v_head_dim)};
  }
};

}  // namespace roofcast
