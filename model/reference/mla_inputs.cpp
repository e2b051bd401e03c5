#include "model/reference/mla_inputs.hpp"

#include <string>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

void check_supported(const MlaShape& s) {
  refuse_if(s.n_heads < 1 || s.kv_lora_rank < 1 || s.qk_nope_head_dim < 1 || s.v_head_dim < 1,
            "latent attention (\"mla\") without heads or with parts of no width");
  refuse_if(s.output_gate != OutputGate::none, "an output gate of latent attention");
  refuse_if(s.kv_lora_rank % kLatentStep != 0, "latents whose rank is not a multiple of 32");
  refuse_if(s.qk_nope_head_dim % kHeadDimStep != 0 || s.qk_rope_head_dim % kHeadDimStep != 0 ||
                s.v_head_dim % kRowTile != 0,
            "latent attention whose head widths are not multiples of 16");
  refuse_if(s.q_lora_rank % 2 != 0, "queries through a latent of odd width");
}

}  // namespace

MlaInputs::MlaInputs(const MlaShape& shape, const LayerSetup& setup)
    : shape_(shape),
      rotary_{shape.qk_rope_head_dim, setup.semantics.rotary.theta},
      layer_(setup.layer),
      op_down_(setup.operators.claim(setup.layer_class, "mla_down_proj")),
      op_rope_(setup.operators.claim(setup.layer_class, "rope_kv_append")) {
  check_supported(shape);
  const std::int64_t queries = shape.n_heads * query_dim();
  const std::int64_t q_rows = through_latent() ? shape.q_lora_rank : queries;
  down_ = make_matrix(setup, Component::attention, q_rows + latent_dim(), setup.hidden_dim);
  kv_norm_ = load_vector(setup.weights, Tensor::kv_latent_norm, layer_, shape.kv_lora_rank);
  if (!through_latent()) return;
  op_q_up_ = setup.operators.claim(setup.layer_class, "mla_q_up_proj");
  q_up_ = make_matrix(setup, Component::attention, queries, shape.q_lora_rank);
  q_norm_ = load_vector(setup.weights, Tensor::q_latent_norm, layer_, shape.q_lora_rank);
}

void MlaInputs::fill(int thread, const WeightSource& weights) {
  const std::int64_t q_rows = down_.rows() - latent_dim();
  const Tensor first = through_latent() ? Tensor::q_down : Tensor::q;
  down_.fill(thread, [&](std::int64_t row, Bf16* out) {
    TensorRow at{.tensor = first, .layer = layer_, .row = row, .width = down_.k()};
    if (row >= q_rows) {
      at.tensor = Tensor::kv_down;
      at.row = row - q_rows;
    }
    weights(at, out);
  });
  if (!through_latent()) return;
  q_up_.fill(thread, [&](std::int64_t row, Bf16* out) {
    weights({.tensor = Tensor::q, .layer = layer_, .row = row, .width = q_up_.k()}, out);
  });
}

void MlaInputs::reserve(std::int64_t batch, Activations& a) const {
  make_room(a.mla.down, batch * down_.rows());
  make_room(a.mla.q_latent, batch * shape_.q_lora_rank);
  make_room(a.mla.q, batch * q_up_.rows());
}

Bf16* MlaInputs::query(Activations& a, std::int64_t sequence) const {
  return (through_latent() ? a.mla.q : a.mla.down).data() + sequence * query_stride();
}

void MlaInputs::project(StepContext& step, int thread) const {
  Activations& a = step.activations;
  // The operator list counts the norms of both latents with the projection.
  if (thread == 0)
    step.recorder.bytes(thread, op_down_).weights +=
        bf16_bytes(static_cast<std::int64_t>(q_norm_.size() + kv_norm_.size()));
  run_gemm(step, thread, op_down_, down_, {}, a.x.data(), a.mla.down.data());
  if (!through_latent()) return;
  norm_query_latents(step, thread);
  run_gemm(step, thread, op_q_up_, q_up_, {}, a.mla.q_latent.data(), a.mla.q.data());
}

void MlaInputs::norm_query_latents(StepContext& step, int thread) const {
  LatentActivations& a = step.activations.mla;
  const std::int64_t rank = shape_.q_lora_rank;
  const Range own = part_of(step.batch, thread, step.pool.size());
  for (std::int64_t s = own.begin; s < own.end; ++s) {
    step.kernels.add_norm({.residual = a.down.data() + s * down_.rows(),
                           .weight = q_norm_.data(),
                           .x = a.q_latent.data() + s * rank,
                           .n = rank,
                           .epsilon = step.norm_epsilon});
  }
  step.recorder.bytes(thread, op_rope_).activations += bf16_bytes(own.size() * 2 * rank);
  step.recorder.finish(thread, op_rope_);
}

void MlaInputs::rotate(StepContext& step, int thread, const RotatedInputs& out) const {
  Activations& a = step.activations;
  const std::int64_t rope = shape_.qk_rope_head_dim;
  const std::int64_t rank = shape_.kv_lora_rank;
  RotateArgs turn{.head_dim = rope, .epsilon = step.norm_epsilon};
  if (rope > 0) {
    const RotaryTable& table = rotary_table(step, rotary_);
    turn.cosine = table.cosine.data();
    turn.sine = table.sine.data();
  }
  const Range own = part_of(step.batch * shape_.n_heads, thread, step.pool.size());
  std::int64_t latents = 0;
  for (std::int64_t item = own.begin; item < own.end; ++item) {
    const std::int64_t s = item / shape_.n_heads;
    const std::int64_t head = item % shape_.n_heads;
    turn.in = query(a, s) + head * query_dim() + shape_.qk_nope_head_dim;
    turn.out = out.query_rope(s, head);
    step.kernels.rotate_head(turn);
    if (head != 0) continue;
    Bf16* const raw = a.mla.down.data() + (s + 1) * down_.rows() - latent_dim();
    step.kernels.add_norm({.residual = raw,
                           .weight = kv_norm_.data(),
                           .x = out.latent(s),
                           .n = rank,
                           .epsilon = step.norm_epsilon});
    turn.in = raw + rank;
    turn.out = out.key_rope(s);
    step.kernels.rotate_head(turn);
    ++latents;
  }
  step.recorder.bytes(thread, op_rope_).activations +=
      bf16_bytes(own.size() * 2 * rope + latents * latent_dim());
}

}  // namespace roofcast
