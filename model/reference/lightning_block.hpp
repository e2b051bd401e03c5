#pragma once

#include "model/attention/lightning.hpp"
#include "model/reference/recurrent_state.hpp"
#include "model/reference/state_layer_parts.hpp"

namespace roofcast {

/// Lightning attention of one layer: silu of q, k and v; each head's state decays by a fixed
/// exp(-rate) and takes k v^T; rms_norm(output) over all heads, gated by a sigmoid.
class LightningBlock {
 public:
  /// Throws UnsupportedError, naming what the engine has no kernel for.
  LightningBlock(const LightningAttention& shape, const LayerSetup& setup);

  void fill(int thread, const WeightSource& weights);
  void reserve(std::int64_t batch, int threads, Activations& activations) const;
  RotaryKey rotary() const { return {}; }
  /// Fresh states for `batch` sequences; nothing grows with context.
  void make_cache(std::int64_t batch, std::int64_t capacity, Arenas& arenas);
  void fill_cache(int thread, int threads, std::uint64_t seed) {
    state_.fill(thread, threads, seed);
  }
  /// y = mixer(x), by all threads; every sequence's state moves on by one token.
  void run(StepContext& step, int thread);

  const RecurrentState& state() const { return state_; }

 private:
  void recur(StepContext& step, int thread);
  std::int64_t width() const { return shape_.n_heads * shape_.head_dim; }

  LightningAttention shape_;
  StateFormat format_;
  int layer_;
  int op_qkv_, op_recurrence_, op_gate_, op_norm_, op_out_;
  PackedMatrix qkv_, gate_, out_;
  std::vector<float> decays_;  // (heads)
  std::vector<Bf16> norm_;     // (width)
  RecurrentState state_;
};

}  // namespace roofcast
