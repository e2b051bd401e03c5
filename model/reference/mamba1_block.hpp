#pragma once

#include "model/attention/mamba1.hpp"
#include "model/reference/causal_convolution.hpp"
#include "model/reference/cpu/split_recurrence.hpp"
#include "model/reference/state_layer_parts.hpp"

namespace roofcast {

/// Mamba of one layer: each channel has a state of state_dim elements with a decay rate each; time
/// steps, B and C are projected from the convolved channels, time steps through dt_rank values.
/// Threads own contiguous runs of channels of all sequences.
class Mamba1Block {
 public:
  /// Throws UnsupportedError, naming what the engine has no kernel for.
  Mamba1Block(const Mamba1& shape, const LayerSetup& setup);

  void fill(int thread, const WeightSource& weights);
  void reserve(std::int64_t batch, int threads, Activations& activations) const;
  RotaryKey rotary() const { return {}; }
  /// Fresh states for `batch` sequences; nothing grows with context.
  void make_cache(std::int64_t batch, std::int64_t capacity, Arenas& arenas);
  void fill_cache(int thread, int threads, std::uint64_t seed);
  /// y = mixer(x), by all threads; every sequence's state moves on by one token.
  void run(StepContext& step, int thread);

  float state_at(std::int64_t sequence, std::int64_t channel, std::int64_t element) const;
  const CausalConvolution& convolution() const { return convolution_; }

 private:
  struct Slab {
    Range channels;           // a multiple of 16
    Bf16* rates = nullptr;    // (own channels / 16, state_dim, 16)
    Bf16* states = nullptr;   // (batch, own channels / 16, state_dim, 16) in fp32
    std::vector<float> b, c;  // (state_dim): of the sequence at hand
    float* state(std::int64_t sequence, std::int64_t state_dim) const;
  };

  void scan(StepContext& step, int thread);
  std::int64_t place(const Slab& slab, std::int64_t channel, std::int64_t element) const;

  Mamba1 shape_;
  int layer_;
  int op_in_, op_x_, op_dt_, op_recurrence_, op_out_;
  PackedMatrix in_, step_down_, bc_, step_up_, out_;  // in_: rows of x, then the gate z
  CausalConvolution convolution_;
  std::vector<Bf16> time_step_bias_, skip_;  // (inner)
  std::vector<Slab> slabs_;                  // by thread
  std::int64_t batch_ = 0;
};

}  // namespace roofcast
