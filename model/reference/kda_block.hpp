#pragma once

#include "model/attention/kda.hpp"
#include "model/reference/causal_convolution.hpp"
#include "model/reference/recurrent_state.hpp"
#include "model/reference/state_layer_parts.hpp"

namespace roofcast {

/// Kimi Delta Attention of one layer: the gated delta rule with decays exp(-rate softplus(f +
/// bias)) of each key channel, f projected through head_dim values; the output is normalised per
/// head, then gated by a sigmoid.
class KdaBlock {
 public:
  /// Throws UnsupportedError, naming what the engine has no kernel for.
  KdaBlock(const KimiDeltaAttention& shape, const LayerSetup& setup);

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
  void project_controls(StepContext& step, int thread);
  void recur(StepContext& step, int thread);
  std::int64_t width() const { return shape_.n_heads * shape_.head_dim; }

  KimiDeltaAttention shape_;
  StateFormat format_;
  int layer_;
  int op_qkv_, op_down_, op_decay_up_, op_gate_up_, op_recurrence_, op_norm_, op_out_;
  PackedMatrix qkv_, decay_down_, decay_up_, gate_down_, gate_up_, strength_, out_;
  CausalConvolution convolution_;
  std::vector<float> decay_rates_;     // (heads)
  std::vector<float> time_step_bias_;  // (width)
  std::vector<Bf16> norm_;             // (head_dim)
  RecurrentState state_;
  std::vector<std::vector<float>> decays_;  // by thread: (head_dim)
};

}  // namespace roofcast
