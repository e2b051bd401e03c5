#pragma once

#include <vector>

#include "model/attention/mla_sparse.hpp"
#include "model/reference/cpu/top_tokens.hpp"
#include "model/reference/latent_cache.hpp"
#include "model/reference/layer_setup.hpp"
#include "model/reference/step_context.hpp"

namespace roofcast {

/// Chooses the tokens that a layer's queries see (DeepSeek-V3.2): every cached token has an index
/// key, and scores sum over index heads w max(0, q . k), with w and q of the newest token. The
/// first part of index queries and keys is rotated, as wide as that of the attention.
class LightningIndexer {
 public:
  /// Throws UnsupportedError, naming what the engine has no kernel for.
  LightningIndexer(const SparseLatentAttention& kind, const LayerSetup& setup);

  /// Fills the weights of `thread`; to be called by it.
  void fill(int thread, const WeightSource& weights);
  /// A fresh cache for `batch` sequences that grow to at most `capacity` tokens.
  void make_cache(std::int64_t batch, std::int64_t capacity, Arenas& arenas);
  void fill_cache(int thread, int threads, std::uint64_t seed) {
    keys_.fill(thread, threads, seed);
  }
  /// Makes room for its activations; after make_cache.
  void reserve(std::int64_t batch, Activations& activations);
  /// Appends an index key per sequence, chooses each sequence's tokens and leaves them in the
  /// activations, for this layer and those that follow it; by all threads.
  void run(StepContext& step, int thread);

  const LatentCache& keys() const { return keys_; }
  /// Of the last step: the cached tokens that each sequence attends to, ascending,
  /// (batch, min(index_topk, tokens)).
  const std::vector<std::int32_t>& chosen() const { return chosen_; }

 private:
  /// What one thread works with.
  struct Own {
    std::vector<Bf16> q, packed_q, key;
    std::vector<float> weights;
    TopTokensScratch scratch;
  };

  void score(StepContext& step, int thread);
  void prepare_query(StepContext& step, std::int64_t sequence, Own& own) const;
  void append_key(StepContext& step, std::int64_t sequence, Own& own);
  void choose(StepContext& step, int thread);
  void rotate(const StepContext& step, Bf16* vector) const;

  std::int64_t heads_, dim_;
  RotaryKey rotary_;
  std::int64_t top_;
  bool from_latent_;  // queries come from the query's latent
  int layer_;
  int op_q_, op_k_, op_score_, op_topk_;
  PackedMatrix q_;
  PackedMatrix k_;  // the key, then one weight per head
  std::vector<Bf16> k_norm_, k_norm_bias_;
  LatentCache keys_;
  std::int64_t capacity_ = 0;
  std::vector<std::int32_t> chosen_;
  std::vector<Own> own_;  // by thread
};

}  // namespace roofcast
