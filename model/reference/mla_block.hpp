#pragma once

#include <optional>

#include "model/reference/cpu/split_latents.hpp"
#include "model/reference/head_matrices.hpp"
#include "model/reference/latent_cache.hpp"
#include "model/reference/lightning_indexer.hpp"
#include "model/reference/mla_inputs.hpp"

namespace roofcast {

/// Multi-head latent attention of one layer in the absorbed form: queries move into the latent
/// space, where one latent per cached token is key and value of all heads. The sparse kind attends
/// to the tokens that its indexer chose, or that of an earlier layer in the same step.
class MlaBlock {
 public:
  /// Throws UnsupportedError, naming what the engine has no kernel for.
  MlaBlock(const MlaShape& shape, const LayerSetup& setup);
  MlaBlock(const SparseLatentAttention& kind, const LayerSetup& setup);

  /// Fills the weights of `thread`; to be called by it.
  void fill(int thread, const WeightSource& weights);
  /// Makes room for its activations; after make_cache.
  void reserve(std::int64_t batch, int threads, Activations& activations);
  /// The rotation that a step needs.
  RotaryKey rotary() const { return inputs_.rotary(); }
  /// A fresh cache for `batch` sequences that grow to at most `capacity` tokens.
  void make_cache(std::int64_t batch, std::int64_t capacity, Arenas& arenas);
  void fill_cache(int thread, int threads, std::uint64_t seed);
  /// y = attention(x), by all threads; appends one token per sequence to the cache.
  void run(StepContext& step, int thread);

  const LatentCache& cache() const { return cache_; }
  /// Null where the layer has none.
  const LightningIndexer* indexer() const { return indexer_ ? &*indexer_ : nullptr; }

 private:
  void rotate_and_append(StepContext& step, int thread);
  void absorb_queries(StepContext& step, int thread) const;
  void attend(StepContext& step, int thread);
  void project_values(StepContext& step, int thread) const;

  MlaInputs inputs_;
  int layer_;
  int op_absorb_q_, op_attention_, op_absorb_v_, op_out_;
  HeadMatrices query_up_;  // of each head, from its query without rope to the latent space
  HeadMatrices value_up_;  // from the latent space to its value
  PackedMatrix out_;
  std::int64_t top_ = 0;  // most tokens that a query sees; 0: all
  std::optional<LightningIndexer> indexer_;
  LatentCache cache_;
  SplitLatents attention_;
};

}  // namespace roofcast
