#include "model/reference/kda_block.hpp"

namespace roofcast {
namespace {

const KimiDeltaAttention& checked(const KimiDeltaAttention& a) {
  check_state_shape(a.head_dim, a.head_dim);
  return a;
}

}  // namespace

KdaBlock::KdaBlock(const KimiDeltaAttention& shape, const LayerSetup& setup)
    : shape_(checked(shape)),
      format_(state_format(setup.formats)),
      layer_(setup.layer),
      op_qkv_(setup.operators.claim(setup.layer_class, "delta_qkv_proj")),
      op_down_(setup.operators.claim(setup.layer_class, "delta_gate_down_proj")),
      op_decay_up_(setup.operators.claim(setup.layer_class, "delta_decay_up_proj")),
      op_gate_up_(shape.full_rank_gate
                      ? -1
                      : setup.operators.claim(setup.layer_class, "delta_gate_up_proj")),
      op_recurrence_(setup.operators.claim(setup.layer_class, "delta_recurrence")),
      op_norm_(setup.operators.claim(setup.layer_class, "delta_gated_norm")),
      op_out_(setup.operators.claim(setup.layer_class, "attn_out_proj")),
      qkv_(make_matrix(setup, Component::attention, 3 * width(), setup.hidden_dim)),
      decay_down_(make_matrix(setup, Component::attention, shape.head_dim, setup.hidden_dim)),
      decay_up_(make_matrix(setup, Component::attention, width(), shape.head_dim)),
      gate_down_(make_matrix(setup, Component::attention,
                             shape.full_rank_gate ? width() : shape.head_dim, setup.hidden_dim)),
      strength_(make_matrix(setup, Component::attention, shape.n_heads, setup.hidden_dim)),
      out_(make_matrix(setup, Component::attention, setup.hidden_dim, width())),
      convolution_("delta_conv", 3 * width(), shape.conv_kernel, false, setup),
      decay_rates_(load_rates(setup, shape.n_heads)),
      time_step_bias_(load_floats(setup, Tensor::time_step_bias, width())),
      norm_(load_vector(setup.weights, Tensor::mixer_norm, layer_, shape.head_dim)),
      decays_(setup.arenas.size(), std::vector<float>(static_cast<std::size_t>(shape.head_dim))) {
  if (!shape.full_rank_gate)
    gate_up_ = make_matrix(setup, Component::attention, width(), shape.head_dim);
}

void KdaBlock::fill(int thread, const WeightSource& weights) {
  const auto fill_one = [&](PackedMatrix& matrix, Tensor tensor) {
    fill_stacked(matrix, thread, layer_, {{tensor, matrix.rows()}}, weights);
  };
  fill_stacked(qkv_, thread, layer_,
               {{Tensor::q, width()}, {Tensor::k, width()}, {Tensor::v, width()}}, weights);
  fill_one(decay_down_, Tensor::decay_in);
  fill_one(decay_up_, Tensor::decay_up);
  fill_one(gate_down_, Tensor::mixer_gate);
  if (!shape_.full_rank_gate) fill_one(gate_up_, Tensor::mixer_gate_up);
  fill_one(strength_, Tensor::strength_in);
  fill_one(out_, Tensor::attn_out);
  convolution_.fill(thread, weights);
}

void KdaBlock::reserve(std::int64_t batch, int, Activations& a) const {
  make_room(a.qkv, batch * qkv_.rows());
  make_room(a.convolved, batch * qkv_.rows());
  make_room(a.narrow, batch * 2 * shape_.head_dim);
  make_room(a.controls, batch * (2 * width() + shape_.n_heads));
  make_room(a.recalled, batch * width());
  make_room(a.attention, batch * width());
}

void KdaBlock::make_cache(std::int64_t batch, std::int64_t, Arenas& arenas) {
  state_ = RecurrentState(batch, shape_.n_heads, shape_.head_dim, shape_.head_dim, format_, arenas);
  convolution_.make_inputs(batch, arenas);
}

void KdaBlock::fill_cache(int thread, int threads, std::uint64_t seed) {
  state_.fill(thread, threads, seed);
  convolution_.fill_inputs(thread, seed);
}

/// Controls are, each for the whole batch: decays (width), gates (width), strengths (heads).
void KdaBlock::project_controls(StepContext& step, int thread) {
  Activations& a = step.activations;
  Bf16* const decays = a.controls.data();
  Bf16* const gates = decays + step.batch * width();
  Bf16* const strengths = gates + step.batch * width();
  Bf16* const narrow_decays = a.narrow.data();
  Bf16* const narrow_gates = narrow_decays + step.batch * shape_.head_dim;
  const bool full = shape_.full_rank_gate;
  const ProductRows products[] = {{decay_down_, narrow_decays},
                                  {gate_down_, full ? gates : narrow_gates},
                                  {strength_, strengths}};
  run_products(step, thread, op_down_, products, a.x.data());
  run_gemm(step, thread, op_decay_up_, decay_up_, {}, narrow_decays, decays);
  if (!full) run_gemm(step, thread, op_gate_up_, gate_up_, {}, narrow_gates, gates);
}

void KdaBlock::run(StepContext& step, int thread) {
  Activations& a = step.activations;
  run_gemm(step, thread, op_qkv_, qkv_, {}, a.x.data(), a.qkv.data());
  project_controls(step, thread);
  convolution_.run(
      step, thread,
      {.x = a.qkv.data(), .stride = qkv_.rows(), .out = a.convolved.data(), .silu = true});
  recur(step, thread);
  step.recorder.finish(thread, op_recurrence_);
  run_gated_norm(step, thread, op_norm_,
                 {.x = a.recalled.data(),
                  .gates = {a.controls.data() + step.batch * width(), width()},
                  .weight = norm_,
                  .groups = shape_.n_heads,
                  .width = shape_.head_dim,
                  .order = NormGate::sigmoid_after,
                  .out = a.attention.data()});
  run_gemm(step, thread, op_out_, out_, {}, a.attention.data(), a.y.data());
}

void KdaBlock::recur(StepContext& step, int thread) {
  const std::int64_t dim = shape_.head_dim;
  const std::int64_t stride = qkv_.rows();
  const Bf16* const convolved = step.activations.convolved.data();
  const Bf16* const slowness = step.activations.controls.data();
  const VectorRows strengths{slowness + 2 * step.batch * width(), shape_.n_heads};
  std::vector<float>& decays = decays_[static_cast<std::size_t>(thread)];
  RecurrenceTask task{
      .key_heads = shape_.n_heads,
      .rule = StateRule::delta,
      .unit_keys = true,
      .query_scale = 1.0F / std::sqrt(static_cast<float>(dim)),
      .keys = {convolved + width(), stride},
      .queries = {convolved, stride},
      .values = {convolved + 2 * width(), stride},
      .control =
          [&](std::int64_t sequence, std::int64_t head) {
            step.kernels.channel_decays({.x = slowness + sequence * width() + head * dim,
                                         .bias = time_step_bias_.data() + head * dim,
                                         .rate = decay_rates_[static_cast<std::size_t>(head)],
                                         .out = decays.data(),
                                         .n = dim});
            return HeadControl{.decays = decays.data(),
                               .strength = sigmoid(element(strengths, sequence, head))};
          },
      .out = step.activations.recalled.data()};
  const RecurrenceReads reads = state_.run(step, thread, op_recurrence_, task);
  Traffic& bytes = step.recorder.bytes(thread, op_recurrence_);
  bytes.activations += Bytes{static_cast<double>(reads.items * (dim + 1)) * sizeof(Bf16)};
  const auto parameters = static_cast<double>(shape_.n_heads + width());
  if (thread == 0) bytes.weights += Bytes{parameters * sizeof(Bf16)};
}

}  // namespace roofcast
