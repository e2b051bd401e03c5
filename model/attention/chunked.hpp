#pragma once

#include <algorithm>
#include <cmath>

#include "model/attention/gqa_shape.hpp"

namespace roofcast {

/// Grouped-query attention inside fixed chunks of `chunk` tokens (Llama 4): a token sees only the
/// tokens before it in its own chunk.
struct ChunkedAttention {
  static constexpr std::string_view kName = "chunked";
  static constexpr std::string_view kSummary =
      "grouped-query attention inside fixed chunks; reads the position inside the chunk";

  GqaShape shape;
  std::int64_t chunk = 0;

  bool operator==(const ChunkedAttention&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    GqaShape::visit_fields(self.shape, field);
    field("chunk", self.chunk);
  }

  MixerParameters parameters(double hidden_dim) const {
    return roofcast::parameters(shape, hidden_dim);
  }
  /// At most a chunk is kept: the cache is sized for the fullest moment up to `context`.
  CacheElements cache(double context) const {
    return stored_per_token(shape) * std::min(context, static_cast<double>(chunk));
  }
  CacheShards cache_shards(double tp) const { return kv_head_shards(shape, tp); }
  void append_operators(OperatorBuilder& builder) const {
    const StepShape& step = builder.step();
    append_gqa(shape, std::fmod(step.context, static_cast<double>(chunk)),
               pairs(step.context, step.query_len), builder);
  }

 private:
  double pairs(double context, double query_len) const {
    const auto upto = [size = static_cast<double>(chunk)](double n) {
      const double whole = std::floor(n / size);
      const double rest = n - whole * size;
      return whole * size * (size + 1.0) / 2.0 + rest * (rest + 1.0) / 2.0;
    };
    return upto(context + query_len) - upto(context);
  }
};

}  // namespace roofcast
