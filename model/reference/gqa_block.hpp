#pragma once

#include "model/attention/gqa_shape.hpp"
#include "model/reference/cpu/split_attention.hpp"
#include "model/reference/kv_cache.hpp"
#include "model/reference/kv_span.hpp"
#include "model/reference/layer_setup.hpp"
#include "model/reference/step_context.hpp"

namespace roofcast {

/// Grouped-query attention of one layer to the tokens of its span, with a cache of its own. The
/// rows of an output gate follow those of Q, K and V.
class GqaBlock {
 public:
  /// Throws UnsupportedError, naming what the engine has no kernel for.
  GqaBlock(const GqaShape& shape, const KvSpan& span, const LayerSetup& setup);

  /// Fills the weights of `thread`; to be called by it.
  void fill(int thread, const WeightSource& weights);
  /// Makes room for its activations.
  void reserve(std::int64_t batch, int threads, Activations& activations) const;
  /// The rotation that a step needs.
  RotaryKey rotary() const { return rotary_; }
  /// A fresh cache for `batch` sequences that grow to at most `capacity` tokens.
  void make_cache(std::int64_t batch, std::int64_t capacity, Arenas& arenas);
  void fill_cache(int thread, int threads, std::uint64_t seed) {
    cache_.fill(thread, threads, seed);
  }
  /// y = attention(x), by all threads; appends one token per sequence to the cache.
  void run(StepContext& step, int thread);

  const GqaShape& shape() const { return shape_; }
  /// Indexed by the span's slots.
  const KvCache& cache() const { return cache_; }

 private:
  void load_vectors(const LayerSetup& setup);
  void rotate_and_append(StepContext& step, int thread);
  void attend(StepContext& step, int thread);
  std::int64_t group() const { return shape_.n_heads / shape_.n_kv_heads; }
  bool gated() const { return shape_.output_gate == OutputGate::elementwise; }

  GqaShape shape_;
  KvSpan span_;
  KvLayout kv_;
  RotaryKey rotary_;
  float query_scale_;
  int layer_;
  int op_qkv_, op_rope_, op_attention_, op_out_;
  PackedMatrix qkv_, out_;
  std::vector<Bf16> qkv_bias_, out_bias_, q_norm_, k_norm_, sinks_;
  KvCache cache_;
  SplitAttention attention_;
};

}  // namespace roofcast
