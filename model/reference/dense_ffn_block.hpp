#pragma once

#include <string_view>

#include "model/architecture/feed_forward.hpp"
#include "model/reference/layer_setup.hpp"
#include "model/reference/step_context.hpp"

namespace roofcast {

/// Names of a dense part's operators in the model's list, its tensors, and whose format they have.
struct DensePart {
  std::string_view up_gate, up, activation, down;
  Tensor up_weights, gate_weights, down_weights;
  Component component;
};
inline constexpr DensePart kDenseLayer = {
    "ffn_up_gate", "ffn_up",     "ffn_activation", "ffn_down",
    Tensor::up,    Tensor::gate, Tensor::down,     Component::dense_ffn};
/// Experts that every token uses are one dense block as wide as all of them.
inline constexpr DensePart kSharedExperts = {
    "shared_up_gate",  "shared_up",         "shared_activation", "shared_down",
    Tensor::shared_up, Tensor::shared_gate, Tensor::shared_down, Component::shared_experts};

/// What blocks of this form apply.
Activation activation_of(const ModelSemantics& semantics, FfnForm form);

/// Dense feed-forward block of one layer: up and gate as one product, activation, down.
class DenseFfnBlock {
 public:
  DenseFfnBlock(const DenseFfn& ffn, const LayerSetup& setup, const DensePart& part = kDenseLayer);

  /// Fills the weights of `thread`; to be called by it.
  void fill(int thread, const WeightSource& weights);
  /// Makes room for its activations.
  void reserve(std::int64_t batch, int threads, Activations& activations) const;
  /// y = ffn(x), by all threads.
  void run(StepContext& step, int thread) const;
  /// y += gate x ffn(x), by all threads: a part of a block that wrote y before. `gates` (batch) may
  /// be null for gates of 1. The part is rounded before it is added, as it would be stored.
  void run_beside(StepContext& step, int thread, const float* gates) const;

 private:
  void run_inputs(StepContext& step, int thread) const;
  void run_activation(StepContext& step, int thread) const;

  DenseFfn ffn_;
  DensePart part_;
  int layer_;
  bool gated_;
  Activation activation_;
  int op_up_, op_activation_, op_down_;
  PackedMatrix up_gate_, down_;
  std::vector<Bf16> up_gate_bias_, down_bias_;
};

}  // namespace roofcast
