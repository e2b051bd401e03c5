#pragma once

#include "model/attention/gated_delta.hpp"
#include "model/reference/causal_convolution.hpp"
#include "model/reference/recurrent_state.hpp"
#include "model/reference/state_layer_parts.hpp"

namespace roofcast {

/// Gated DeltaNet of one layer. Keys and queries have length 1 after the convolution; each value
/// head's state decays by exp(-rate softplus(a + bias)), a and the write strength sigmoid(b)
/// projected from the token; the output is normalised per head, then gated by silu(z).
class GatedDeltaBlock {
 public:
  /// Throws UnsupportedError, naming what the engine has no kernel for.
  GatedDeltaBlock(const GatedDeltaNet& shape, const LayerSetup& setup);

  void fill(int thread, const WeightSource& weights);
  void reserve(std::int64_t batch, int threads, Activations& activations) const;
  RotaryKey rotary() const { return {}; }
  /// Fresh states for `batch` sequences; nothing grows with context.
  void make_cache(std::int64_t batch, std::int64_t capacity, Arenas& arenas);
  void fill_cache(int thread, int threads, std::uint64_t seed);
  /// y = mixer(x), by all threads; every sequence's state moves on by one token.
  void run(StepContext& step, int thread);

  const RecurrentState& state() const { return state_; }
  const CausalConvolution& convolution() const { return convolution_; }

 private:
  void recur(StepContext& step, int thread);
  std::int64_t keys() const { return shape_.n_key_heads * shape_.key_head_dim; }
  std::int64_t values() const { return shape_.n_value_heads * shape_.value_head_dim; }
  std::int64_t channels() const { return 2 * keys() + values(); }

  GatedDeltaNet shape_;
  StateFormat format_;
  int layer_;
  int op_qkvz_, op_ba_, op_recurrence_, op_norm_, op_out_;
  PackedMatrix qkvz_, ba_, out_;
  CausalConvolution convolution_;
  std::vector<float> decay_rates_, time_step_bias_;  // (value heads)
  std::vector<Bf16> norm_;                           // (value_head_dim)
  RecurrentState state_;
};

}  // namespace roofcast
