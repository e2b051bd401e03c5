#pragma once

#include "model/attention/mamba2.hpp"
#include "model/reference/causal_convolution.hpp"
#include "model/reference/recurrent_state.hpp"
#include "model/reference/state_layer_parts.hpp"

namespace roofcast {

/// Mamba-2 of one layer: time steps dt = softplus(projected + bias); each head's state decays by
/// exp(-rate dt) and takes dt B x^T; y = C state + skip x, then rms_norm(y silu(z)) per group.
class Mamba2Block {
 public:
  /// Throws UnsupportedError, naming what the engine has no kernel for.
  Mamba2Block(const Mamba2& shape, const LayerSetup& setup);

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
  std::int64_t inner() const { return shape_.n_heads * shape_.head_dim; }
  std::int64_t keys() const { return shape_.n_groups * shape_.state_dim; }
  std::int64_t channels() const { return inner() + 2 * keys(); }

  Mamba2 shape_;
  StateFormat format_;
  int layer_;
  int op_in_, op_recurrence_, op_norm_, op_out_;
  PackedMatrix in_, out_;  // in_: rows of z, then x, B, C, then dt
  CausalConvolution convolution_;
  std::vector<float> decay_rates_, time_step_bias_, skip_;  // (heads)
  std::vector<Bf16> norm_;                                  // (inner)
  RecurrentState state_;
};

}  // namespace roofcast
