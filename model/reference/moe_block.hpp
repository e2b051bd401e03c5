#pragma once

#include <optional>
#include <vector>

#include "model/architecture/feed_forward.hpp"
#include "model/reference/dense_ffn_block.hpp"
#include "model/reference/layer_setup.hpp"
#include "model/reference/step_context.hpp"

namespace roofcast {

/// Mixture of experts of one layer: router, routed experts, and beside them shared experts or a
/// dense block. A router bias is added to the scores, or to the choice alone (RouterSemantics).
class MoeBlock {
 public:
  /// Throws UnsupportedError, naming what the engine has no kernel for.
  MoeBlock(const MoeFfn& ffn, const LayerSetup& setup);

  /// Fills the weights of `thread`; to be called by it.
  void fill(int thread, const WeightSource& weights);
  /// Makes room for its activations.
  void reserve(std::int64_t batch, int threads, Activations& activations);
  /// y = ffn(x), by all threads.
  void run(StepContext& step, int thread);

  /// Of the last step: the experts of each sequence, (batch, n_experts_per_token).
  const std::vector<ExpertChoice>& choices() const { return choices_; }
  /// Of the last step: distinct experts.
  std::int64_t experts_hit() const { return experts_hit_; }

 private:
  struct Expert {
    PackedMatrix up, gate, down;  // no gate when plain
    std::vector<Bf16> up_bias, gate_bias, down_bias;
  };

  void build_experts(const LayerSetup& setup);
  void load_expert_biases(const LayerSetup& setup);
  void load_router(const LayerSetup& setup);
  void run_router(StepContext& step, int thread);
  void run_experts_of(StepContext& step, int thread);
  ExpertSlice slice(std::int64_t expert, int thread) const;

  MoeFfn ffn_;
  int layer_;
  bool gated_;
  int op_router_, op_experts_;
  PackedMatrix router_;
  Activation activation_;
  ClampedSwiglu swiglu_;
  RouterSemantics routing_;
  std::vector<Bf16> router_bias_, shared_output_gate_;
  std::vector<float> choice_bias_, skew_;  // (n_experts) or empty
  std::vector<Expert> experts_;
  std::optional<DenseFfnBlock> shared_, dense_;
  std::vector<ExpertChoice> choices_;
  std::int64_t experts_hit_ = 0;
};

}  // namespace roofcast
