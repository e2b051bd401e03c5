#pragma once

#include "model/attention/gqa_shape.hpp"

namespace roofcast {

/// Attention of DeepSeek-V4 (arXiv:2606.19348, section 2.3): one key-value head whose vector is key
/// and value at once, kept for the last `window` tokens and, beside them, pooled into one entry per
/// `compress_ratio` tokens. Heavily compressed layers read every entry; compressed sparse layers
/// (index_topk > 0) pool overlapping windows and read the `index_topk` entries that an indexer with
/// a pooled key of its own picks. compress_ratio 0 is the window alone. Queries and the grouped
/// output projection are low-rank.
struct CompressedAttention {
  static constexpr std::string_view kName = "compressed";
  static constexpr std::string_view kSummary =
      "DeepSeek-V4: a window and pooled entries of one shared key-value vector, top-k by an "
      "indexer";

  std::int64_t n_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t q_lora_rank = 0;
  std::int64_t o_groups = 0;
  std::int64_t o_lora_rank = 0;
  std::int64_t window = 0;
  std::int64_t compress_ratio = 0;
  std::int64_t index_n_heads = 0;
  std::int64_t index_head_dim = 0;
  std::int64_t index_topk = 0;

  bool operator==(const CompressedAttention&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    field("n_heads", self.n_heads);
    field("head_dim", self.head_dim);
    field("q_lora_rank", self.q_lora_rank);
    field("o_groups", self.o_groups);
    field("o_lora_rank", self.o_lora_rank);
    field("window", self.window);
    field("compress_ratio", self.compress_ratio, Presence::optional, 0);
    field("index_n_heads", self.index_n_heads, Presence::optional, 0);
    field("index_head_dim", self.index_head_dim, Presence::optional, 0);
    field("index_topk", self.index_topk, Presence::optional, 0);
  }

  bool has_indexer() const { return compress_ratio > 0 && index_topk > 0; }

  MixerParameters parameters(double hidden_dim) const;
  /// Entries count in proportion (context / compress_ratio), without rounding down to whole ones.
  /// `state` is what the pooling holds back: inputs and gates of the windows that are still open.
  CacheElements cache(double context) const;
  CacheShards cache_shards(double) const { return {}; }
  void append_operators(OperatorBuilder& builder) const;
};

}  // namespace roofcast
