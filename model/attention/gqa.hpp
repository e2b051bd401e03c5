#pragma once

#include "model/attention/gqa_shape.hpp"

namespace roofcast {

/// Grouped-query attention over the whole context (MHA, GQA and MQA by the head counts).
struct GroupedQueryAttention {
  static constexpr std::string_view kName = "gqa";
  static constexpr std::string_view kSummary =
      "grouped-query attention over the whole context; MHA when n_kv_heads = n_heads, MQA when 1";

  GqaShape shape;

  bool operator==(const GroupedQueryAttention&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    GqaShape::visit_fields(self.shape, field);
  }

  MixerParameters parameters(double hidden_dim) const {
    return roofcast::parameters(shape, hidden_dim);
  }
  /// Elements kept by one sequence of `context` tokens in one layer, of one copy.
  CacheElements cache(double context) const { return stored_per_token(shape) * context; }
  CacheShards cache_shards(double tp) const { return kv_head_shards(shape, tp); }
  void append_operators(OperatorBuilder& builder) const {
    const StepShape& step = builder.step();
    append_gqa(shape, step.context, causal_pairs(step.context, step.query_len), builder);
  }
};

}  // namespace roofcast
