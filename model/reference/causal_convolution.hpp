#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/reference/cpu/packed_matrix.hpp"
#include "model/reference/layer_setup.hpp"
#include "model/reference/step_context.hpp"

namespace roofcast {

/// What a convolution reads of each sequence, and where its output goes.
struct ConvolutionRows {
  const Bf16* x = nullptr;     // (batch, channels)
  const Bf16* gate = nullptr;  // (batch, channels) or none, as far apart as x
  std::int64_t stride = 0;     // elements between sequences of x
  Bf16* out = nullptr;         // (batch, channels), contiguous
  bool silu = false;
};

/// Causal convolution of each channel over its last `kernel` inputs, of one layer. Threads own
/// contiguous runs of channels of all sequences: taps and kept inputs, in their arenas.
class CausalConvolution {
 public:
  CausalConvolution() = default;
  /// `op` names the operator. Throws UnsupportedError where inputs are not kept in bf16.
  CausalConvolution(std::string_view op, std::int64_t channels, std::int64_t kernel, bool bias,
                    const LayerSetup& setup);

  std::int64_t channels() const { return channels_; }
  int op() const { return op_; }

  /// Fills the taps of `thread`; to be called by it.
  void fill(int thread, const WeightSource& weights);
  void make_inputs(std::int64_t batch, Arenas& arenas);
  /// Fills the kept inputs of `thread` with random values; to be called by it.
  void fill_inputs(int thread, std::uint64_t seed);
  /// By all threads, which then meet. A gate's bytes are left to the caller to count.
  void run(StepContext& step, int thread, const ConvolutionRows& rows);

  /// Channels of one thread, in whole cache lines.
  Range slab(int thread) const { return slabs_[static_cast<std::size_t>(thread)].channels; }
  /// The input kept of `sequence` from `age` tokens ago, 1 .. kernel - 1.
  float input_at(std::int64_t sequence, std::int64_t age, std::int64_t channel) const;

 private:
  struct Slab {
    Range channels;
    Bf16* taps = nullptr;    // (kernel, own channels): the one of the oldest input first
    Bf16* inputs = nullptr;  // (batch, kernel - 1, own channels): the oldest first
  };

  int layer_ = 0;
  int op_ = 0;
  std::int64_t channels_ = 0, kernel_ = 0, batch_ = 0;
  std::vector<Bf16> bias_;
  std::vector<Slab> slabs_;  // by thread
};

}  // namespace roofcast
