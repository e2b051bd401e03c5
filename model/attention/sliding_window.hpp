#pragma once

#include <algorithm>

#include "model/attention/gqa_shape.hpp"

namespace roofcast {

/// Grouped-query attention to the last `window` tokens only; older ones leave the cache.
struct SlidingWindowAttention {
  static constexpr std::string_view kName = "sliding_window";
  static constexpr std::string_view kSummary =
      "grouped-query attention to the last `window` tokens; keeps and reads min(context, window)";

  GqaShape shape;
  std::int64_t window = 0;

  bool operator==(const SlidingWindowAttention&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    GqaShape::visit_fields(self.shape, field);
    field("window", self.window);
  }

  MixerParameters parameters(double hidden_dim) const {
    return roofcast::parameters(shape, hidden_dim);
  }
  CacheElements cache(double context) const { return stored_per_token(shape) * kept(context); }
  CacheShards cache_shards(double tp) const { return kv_head_shards(shape, tp); }
  void append_operators(OperatorBuilder& builder) const {
    const StepShape& step = builder.step();
    append_gqa(shape, kept(step.context),
               windowed_pairs(step.context, step.query_len, static_cast<double>(window)), builder);
  }

 private:
  double kept(double context) const { return std::min(context, static_cast<double>(window)); }
};

}  // namespace roofcast
