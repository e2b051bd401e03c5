#pragma once

#include "model/reference/cpu/split_attention.hpp"
#include "model/reference/kv_cache.hpp"
#include "model/reference/mla_inputs.hpp"

namespace roofcast {

/// Multi-head latent attention of one layer in the expanded form: each token's latent becomes keys
/// and values of all heads, and those are cached. Weights are those of the absorbed form.
class MlaExpandedBlock {
 public:
  /// Throws UnsupportedError, naming what the engine has no kernel for.
  MlaExpandedBlock(const MlaShape& shape, const LayerSetup& setup);

  /// Fills the weights of `thread`; to be called by it.
  void fill(int thread, const WeightSource& weights);
  /// Makes room for its activations.
  void reserve(std::int64_t batch, int threads, Activations& activations) const;
  /// The rotation that a step needs.
  RotaryKey rotary() const { return inputs_.rotary(); }
  /// A fresh cache for `batch` sequences that grow to at most `capacity` tokens.
  void make_cache(std::int64_t batch, std::int64_t capacity, Arenas& arenas);
  void fill_cache(int thread, int threads, std::uint64_t seed) {
    cache_.fill(thread, threads, seed);
  }
  /// y = attention(x), by all threads; appends one token per sequence to the cache.
  void run(StepContext& step, int thread);

  const KvCache& cache() const { return cache_; }

 private:
  void rotate(StepContext& step, int thread) const;
  void expand_and_append(StepContext& step, int thread);
  /// The part of a sequence's newest key that all heads share.
  Bf16* rotated_key(StepContext& step, std::int64_t sequence) const;
  void attend(StepContext& step, int thread);

  MlaInputs inputs_;
  int layer_;
  int op_expand_, op_attention_, op_out_;
  PackedMatrix up_;  // from the latent to keys and values of all heads
  PackedMatrix out_;
  KvLayout kv_;
  KvCache cache_;
  SplitAttention attention_;
};

}  // namespace roofcast
