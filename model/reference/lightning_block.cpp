#include "model/reference/lightning_block.hpp"

namespace roofcast {
namespace {

const LightningAttention& checked(const LightningAttention& a) {
  check_state_shape(a.head_dim, a.head_dim);
  return a;
}

}  // namespace

LightningBlock::LightningBlock(const LightningAttention& shape, const LayerSetup& setup)
    : shape_(checked(shape)),
      format_(state_format(setup.formats)),
      layer_(setup.layer),
      op_qkv_(setup.operators.claim(setup.layer_class, "qkv_proj")),
      op_recurrence_(setup.operators.claim(setup.layer_class, "linear_recurrence")),
      op_gate_(setup.operators.claim(setup.layer_class, "output_gate_proj")),
      op_norm_(setup.operators.claim(setup.layer_class, "gated_norm")),
      op_out_(setup.operators.claim(setup.layer_class, "attn_out_proj")),
      qkv_(make_matrix(setup, Component::attention, 3 * width(), setup.hidden_dim)),
      gate_(make_matrix(setup, Component::attention, width(), setup.hidden_dim)),
      out_(make_matrix(setup, Component::attention, setup.hidden_dim, width())),
      decays_(load_rates(setup, shape.n_heads)),
      norm_(load_vector(setup.weights, Tensor::mixer_norm, layer_, width())) {
  for (float& decay : decays_) decay = std::exp(-decay);
}

void LightningBlock::fill(int thread, const WeightSource& weights) {
  fill_stacked(qkv_, thread, layer_,
               {{Tensor::q, width()}, {Tensor::k, width()}, {Tensor::v, width()}}, weights);
  fill_stacked(gate_, thread, layer_, {{Tensor::mixer_gate, width()}}, weights);
  fill_stacked(out_, thread, layer_, {{Tensor::attn_out, out_.rows()}}, weights);
}

void LightningBlock::reserve(std::int64_t batch, int, Activations& a) const {
  make_room(a.qkv, batch * qkv_.rows());
  make_room(a.recalled, batch * width());
  make_room(a.controls, batch * width());
  make_room(a.attention, batch * width());
}

void LightningBlock::make_cache(std::int64_t batch, std::int64_t, Arenas& arenas) {
  state_ = RecurrentState(batch, shape_.n_heads, shape_.head_dim, shape_.head_dim, format_, arenas);
}

void LightningBlock::run(StepContext& step, int thread) {
  Activations& a = step.activations;
  run_gemm(step, thread, op_qkv_, qkv_, {}, a.x.data(), a.qkv.data());
  recur(step, thread);
  step.recorder.finish(thread, op_recurrence_);
  run_gemm(step, thread, op_gate_, gate_, {}, a.x.data(), a.controls.data());
  run_gated_norm(step, thread, op_norm_,
                 {.x = a.recalled.data(),
                  .gates = {a.controls.data(), width()},
                  .weight = norm_,
                  .groups = 1,
                  .width = width(),
                  .order = NormGate::sigmoid_after,
                  .out = a.attention.data()});
  run_gemm(step, thread, op_out_, out_, {}, a.attention.data(), a.y.data());
}

void LightningBlock::recur(StepContext& step, int thread) {
  const Bf16* const qkv = step.activations.qkv.data();
  RecurrenceTask task{.key_heads = shape_.n_heads,
                      .rule = StateRule::linear,
                      .silu_inputs = true,
                      .keys = {qkv + width(), qkv_.rows()},
                      .queries = {qkv, qkv_.rows()},
                      .values = {qkv + 2 * width(), qkv_.rows()},
                      .control =
                          [&](std::int64_t, std::int64_t head) {
                            return HeadControl{.decay = decays_[static_cast<std::size_t>(head)]};
                          },
                      .out = step.activations.recalled.data()};
  state_.run(step, thread, op_recurrence_, task);
  const auto heads = static_cast<double>(shape_.n_heads);
  if (thread == 0)
    step.recorder.bytes(thread, op_recurrence_).weights += Bytes{heads * sizeof(Bf16)};
}

}  // namespace roofcast
