#include "model/reference/gated_delta_block.hpp"

#include "model/base/error.hpp"

namespace roofcast {
namespace {

const GatedDeltaNet& checked(const GatedDeltaNet& g) {
  check_state_shape(g.key_head_dim, g.value_head_dim);
  if (g.n_key_heads < 1 || g.n_value_heads % g.n_key_heads != 0)
    throw UnsupportedError(
        "the reference engine has no kernel for value heads that do not divide among key heads");
  return g;
}

}  // namespace

GatedDeltaBlock::GatedDeltaBlock(const GatedDeltaNet& shape, const LayerSetup& setup)
    : shape_(checked(shape)),
      format_(state_format(setup.formats)),
      layer_(setup.layer),
      op_qkvz_(setup.operators.claim(setup.layer_class, "delta_qkvz_proj")),
      op_ba_(setup.operators.claim(setup.layer_class, "delta_ba_proj")),
      op_recurrence_(setup.operators.claim(setup.layer_class, "delta_recurrence")),
      op_norm_(setup.operators.claim(setup.layer_class, "delta_gated_norm")),
      op_out_(setup.operators.claim(setup.layer_class, "attn_out_proj")),
      qkvz_(make_matrix(setup, Component::attention, channels() + values(), setup.hidden_dim)),
      ba_(make_matrix(setup, Component::attention, 2 * shape.n_value_heads, setup.hidden_dim)),
      out_(make_matrix(setup, Component::attention, setup.hidden_dim, values())),
      convolution_("delta_conv", channels(), shape.conv_kernel, false, setup),
      decay_rates_(load_rates(setup, shape.n_value_heads)),
      time_step_bias_(load_floats(setup, Tensor::time_step_bias, shape.n_value_heads)),
      norm_(load_vector(setup.weights, Tensor::mixer_norm, layer_, shape.value_head_dim)) {}

void GatedDeltaBlock::fill(int thread, const WeightSource& weights) {
  fill_stacked(qkvz_, thread, layer_,
               {{Tensor::q, keys()},
                {Tensor::k, keys()},
                {Tensor::v, values()},
                {Tensor::mixer_gate, values()}},
               weights);
  fill_stacked(
      ba_, thread, layer_,
      {{Tensor::strength_in, shape_.n_value_heads}, {Tensor::decay_in, shape_.n_value_heads}},
      weights);
  fill_stacked(out_, thread, layer_, {{Tensor::attn_out, out_.rows()}}, weights);
  convolution_.fill(thread, weights);
}

void GatedDeltaBlock::reserve(std::int64_t batch, int, Activations& a) const {
  make_room(a.qkv, batch * qkvz_.rows());
  make_room(a.controls, batch * ba_.rows());
  make_room(a.convolved, batch * channels());
  make_room(a.recalled, batch * values());
  make_room(a.attention, batch * values());
}

void GatedDeltaBlock::make_cache(std::int64_t batch, std::int64_t, Arenas& arenas) {
  state_ = RecurrentState(batch, shape_.n_value_heads, shape_.key_head_dim, shape_.value_head_dim,
                          format_, arenas);
  convolution_.make_inputs(batch, arenas);
}

void GatedDeltaBlock::fill_cache(int thread, int threads, std::uint64_t seed) {
  state_.fill(thread, threads, seed);
  convolution_.fill_inputs(thread, seed);
}

void GatedDeltaBlock::run(StepContext& step, int thread) {
  Activations& a = step.activations;
  run_gemm(step, thread, op_qkvz_, qkvz_, {}, a.x.data(), a.qkv.data());
  run_gemm(step, thread, op_ba_, ba_, {}, a.x.data(), a.controls.data());
  convolution_.run(
      step, thread,
      {.x = a.qkv.data(), .stride = qkvz_.rows(), .out = a.convolved.data(), .silu = true});
  recur(step, thread);
  step.recorder.finish(thread, op_recurrence_);
  run_gated_norm(step, thread, op_norm_,
                 {.x = a.recalled.data(),
                  .gates = {a.qkv.data() + channels(), qkvz_.rows()},
                  .weight = norm_,
                  .groups = shape_.n_value_heads,
                  .width = shape_.value_head_dim,
                  .order = NormGate::silu_after,
                  .out = a.attention.data()});
  run_gemm(step, thread, op_out_, out_, {}, a.attention.data(), a.y.data());
}

void GatedDeltaBlock::recur(StepContext& step, int thread) {
  const std::int64_t heads = shape_.n_value_heads;
  const VectorRows controls{step.activations.controls.data(), ba_.rows()};
  const Bf16* const convolved = step.activations.convolved.data();
  RecurrenceTask task{
      .key_heads = shape_.n_key_heads,
      .rule = StateRule::delta,
      .unit_keys = true,
      .query_scale = 1.0F / std::sqrt(static_cast<float>(shape_.key_head_dim)),
      .keys = {convolved + keys(), channels()},
      .queries = {convolved, channels()},
      .values = {convolved + 2 * keys(), channels()},
      .control =
          [&](std::int64_t sequence, std::int64_t head) {
            const auto at = static_cast<std::size_t>(head);
            const float a = element(controls, sequence, heads + head);
            return HeadControl{
                .decay = std::exp(-decay_rates_[at] * softplus(a + time_step_bias_[at])),
                .strength = sigmoid(element(controls, sequence, head))};
          },
      .out = step.activations.recalled.data()};
  const RecurrenceReads reads = state_.run(step, thread, op_recurrence_, task);
  Traffic& bytes = step.recorder.bytes(thread, op_recurrence_);
  const double controls_read = 2.0 * static_cast<double>(reads.items);
  bytes.activations += Bytes{controls_read * sizeof(Bf16)};
  if (thread == 0) bytes.weights += Bytes{2.0 * static_cast<double>(heads) * sizeof(Bf16)};
}

}  // namespace roofcast
