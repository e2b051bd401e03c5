#pragma once

#include "model/attention/short_conv.hpp"
#include "model/reference/causal_convolution.hpp"
#include "model/reference/state_layer_parts.hpp"

namespace roofcast {

/// Gated short convolution of one layer (LFM2): y = W (C . conv(B . x)), with B, C and x projected
/// from the token.
class ShortConvBlock {
 public:
  /// Throws UnsupportedError, naming what the engine has no kernel for.
  ShortConvBlock(const ShortConvolution& shape, const LayerSetup& setup);

  void fill(int thread, const WeightSource& weights);
  void reserve(std::int64_t batch, int threads, Activations& activations) const;
  RotaryKey rotary() const { return {}; }
  /// Fresh kept inputs for `batch` sequences; nothing grows with context.
  void make_cache(std::int64_t batch, std::int64_t, Arenas& arenas) {
    convolution_.make_inputs(batch, arenas);
  }
  void fill_cache(int thread, int, std::uint64_t seed) { convolution_.fill_inputs(thread, seed); }
  /// y = mixer(x), by all threads; every sequence's kept inputs move on by one token.
  void run(StepContext& step, int thread);

  const CausalConvolution& convolution() const { return convolution_; }

 private:
  void run_gates(StepContext& step, int thread);

  ShortConvolution shape_;
  int layer_;
  int op_in_, op_gates_, op_out_;
  PackedMatrix in_, out_;  // in_: rows of B, C, x
  std::vector<Bf16> in_bias_, out_bias_;
  CausalConvolution convolution_;
};

}  // namespace roofcast
