#pragma once

#include "model/attention/mla.hpp"

namespace roofcast {

/// MLA whose queries see only the `index_topk` tokens that a lightning indexer scores best
/// (DeepSeek-V3.2, arXiv:2512.02556; GLM-5). Beside the latent, each token stores one index key of
/// index_head_dim elements in the `indexer` format; neither is divided by tensor parallelism, and
/// engines keep the whole indexer on every rank. A layer may take the choice of an earlier layer
/// (GLM-5.2): then it has no indexer and stores and reads no index keys.
struct SparseLatentAttention {
  static constexpr std::string_view kName = "mla_sparse";
  static constexpr std::string_view kSummary =
      "MLA with a lightning indexer: reads all index keys and the top-k latents";

  MlaShape shape;
  std::int64_t index_n_heads = 0;
  std::int64_t index_head_dim = 0;
  std::int64_t index_topk = 0;
  KvOwner index_owner = KvOwner::self;

  bool operator==(const SparseLatentAttention&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    MlaShape::visit_fields(self.shape, field);
    field("index_n_heads", self.index_n_heads);
    field("index_head_dim", self.index_head_dim);
    field("index_topk", self.index_topk);
    field("index_owner", self.index_owner);
  }

  MixerParameters parameters(double hidden_dim) const;
  CacheElements cache(double context) const {
    return {.k = shape.latent_dim() * context,
            .indexer =
                index_owner == KvOwner::self ? static_cast<double>(index_head_dim) * context : 0.0};
  }
  CacheShards cache_shards(double) const { return {}; }
  void append_operators(OperatorBuilder& builder) const;

 private:
  void append_indexer(OperatorBuilder& builder) const;
};

}  // namespace roofcast
