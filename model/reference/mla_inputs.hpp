#pragma once

#include <functional>
#include <vector>

#include "model/attention/mla.hpp"
#include "model/reference/layer_setup.hpp"
#include "model/reference/step_context.hpp"

namespace roofcast {

/// Where rotated inputs go: the rope part of each query; and of each newest token the latent and
/// the rope part of the key.
struct RotatedInputs {
  std::function<Bf16*(std::int64_t sequence, std::int64_t head)> query_rope;
  std::function<Bf16*(std::int64_t sequence)> latent;
  std::function<Bf16*(std::int64_t sequence)> key_rope;
};

/// What all forms of multi-head latent attention do to their input: projections to queries and to
/// the latent, the norms of both latents, and rotary embedding.
class MlaInputs {
 public:
  /// Throws UnsupportedError, naming what the engine has no kernel for.
  MlaInputs(const MlaShape& shape, const LayerSetup& setup);

  /// Fills the weights of `thread`; to be called by it.
  void fill(int thread, const WeightSource& weights);
  /// Makes room for what `project` writes.
  void reserve(std::int64_t batch, Activations& activations) const;

  /// Queries, before their rotation, and latents, before norm and rotation. Ends at a barrier.
  void project(StepContext& step, int thread) const;
  /// Rotates queries and latents, norms latents. Every thread its share, counted as the operator
  /// `rope_kv_append`, which the caller finishes.
  void rotate(StepContext& step, int thread, const RotatedInputs& out) const;

  const MlaShape& shape() const { return shape_; }
  /// The rotation that a step needs.
  const RotaryKey& rotary() const { return rotary_; }
  int op_rope() const { return op_rope_; }
  std::int64_t latent_dim() const { return shape_.kv_lora_rank + shape_.qk_rope_head_dim; }
  /// Width of one head's query and key.
  std::int64_t query_dim() const { return shape_.qk_nope_head_dim + shape_.qk_rope_head_dim; }
  /// Query of the first head of a sequence; its other heads follow.
  Bf16* query(Activations& activations, std::int64_t sequence) const;
  std::int64_t query_stride() const { return through_latent() ? q_up_.rows() : down_.rows(); }

 private:
  /// Whether queries are projected to a latent first.
  bool through_latent() const { return shape_.q_lora_rank > 0; }
  void norm_query_latents(StepContext& step, int thread) const;

  MlaShape shape_;
  RotaryKey rotary_;
  int layer_;
  int op_down_, op_q_up_ = -1, op_rope_;
  PackedMatrix down_;  // the query's latent, or all queries, then the latent of keys and values
  PackedMatrix q_up_;
  std::vector<Bf16> q_norm_, kv_norm_;
};

}  // namespace roofcast
