#pragma once

#include "model/attention/gqa_shape.hpp"

namespace roofcast {

/// Grouped-query attention to the best blocks of tokens (MiniMax-M3, arXiv:2606.13392): an index
/// key per token, shared by all heads, is scored for each group of heads; a group then reads
/// `topk_blocks` blocks of its keys and values, forced initial and local blocks among them.
struct SparseGroupedAttention {
  static constexpr std::string_view kName = "gqa_sparse";
  static constexpr std::string_view kSummary =
      "grouped-query attention to the top blocks: reads all index keys and topk_blocks blocks";

  GqaShape shape;
  std::int64_t index_n_heads = 0;
  std::int64_t index_head_dim = 0;
  std::int64_t block_size = 0;
  std::int64_t topk_blocks = 0;
  std::int64_t init_blocks = 0;
  std::int64_t local_blocks = 0;

  bool operator==(const SparseGroupedAttention&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    GqaShape::visit_fields(self.shape, field);
    field("index_n_heads", self.index_n_heads);
    field("index_head_dim", self.index_head_dim);
    field("block_size", self.block_size);
    field("topk_blocks", self.topk_blocks);
    field("init_blocks", self.init_blocks, Presence::optional, 0);
    field("local_blocks", self.local_blocks, Presence::optional, 0);
  }

  MixerParameters parameters(double hidden_dim) const;
  CacheElements cache(double context) const;
  CacheShards cache_shards(double tp) const { return kv_head_shards(shape, tp); }
  void append_operators(OperatorBuilder& builder) const;
};

}  // namespace roofcast
