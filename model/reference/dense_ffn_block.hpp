#pragma once

#include "model/architecture/feed_forward.hpp"
#include "model/reference/layer_setup.hpp"
#include "model/reference/step_context.hpp"

namespace roofcast {

/// Dense feed-forward block of one layer: up and gate as one product, activation, down.
class DenseFfnBlock {
 public:
  DenseFfnBlock(const DenseFfn& ffn, const LayerSetup& setup);

  /// Fills the weights of `thread`; to be called by it.
  void fill(int thread, const WeightSource& weights);
  /// y = ffn(x), by all threads.
  void run(StepContext& step, int thread) const;

  std::int64_t ffn_dim() const { return ffn_.ffn_dim; }

 private:
  void run_activation(StepContext& step, int thread) const;

  DenseFfn ffn_;
  int layer_;
  bool gated_;
  int op_up_, op_activation_, op_down_;
  PackedMatrix up_gate_, down_;
  std::vector<Bf16> up_gate_bias_, down_bias_;
};

}  // namespace roofcast
