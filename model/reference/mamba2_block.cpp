#include "model/reference/mamba2_block.hpp"

#include "model/base/error.hpp"

namespace roofcast {
namespace {

const Mamba2& checked(const Mamba2& m) {
  check_state_shape(m.state_dim, m.head_dim);
  if (m.n_groups < 1 || m.n_heads % m.n_groups != 0)
    throw UnsupportedError(
        "the reference engine has no kernel for heads that do not divide among groups");
  return m;
}

}  // namespace

Mamba2Block::Mamba2Block(const Mamba2& shape, const LayerSetup& setup)
    : shape_(checked(shape)),
      format_(state_format(setup.formats)),
      layer_(setup.layer),
      op_in_(setup.operators.claim(setup.layer_class, "ssm_in_proj")),
      op_recurrence_(setup.operators.claim(setup.layer_class, "ssm_recurrence")),
      op_norm_(setup.operators.claim(setup.layer_class, "ssm_gated_norm")),
      op_out_(setup.operators.claim(setup.layer_class, "attn_out_proj")),
      in_(make_matrix(setup, Component::attention, inner() + channels() + shape.n_heads,
                      setup.hidden_dim)),
      out_(make_matrix(setup, Component::attention, setup.hidden_dim, inner())),
      convolution_("ssm_conv", channels(), shape.conv_kernel, shape.conv_bias, setup),
      decay_rates_(load_rates(setup, shape.n_heads)),
      time_step_bias_(load_floats(setup, Tensor::time_step_bias, shape.n_heads)),
      skip_(load_floats(setup, Tensor::skip, shape.n_heads)),
      norm_(load_vector(setup.weights, Tensor::mixer_norm, layer_, inner())) {}

void Mamba2Block::fill(int thread, const WeightSource& weights) {
  fill_stacked(in_, thread, layer_, {{Tensor::mixer_in, in_.rows()}}, weights);
  fill_stacked(out_, thread, layer_, {{Tensor::attn_out, out_.rows()}}, weights);
  convolution_.fill(thread, weights);
}

void Mamba2Block::reserve(std::int64_t batch, int, Activations& a) const {
  make_room(a.qkv, batch * in_.rows());
  make_room(a.convolved, batch * channels());
  make_room(a.recalled, batch * inner());
  make_room(a.attention, batch * inner());
}

void Mamba2Block::make_cache(std::int64_t batch, std::int64_t, Arenas& arenas) {
  state_ =
      RecurrentState(batch, shape_.n_heads, shape_.state_dim, shape_.head_dim, format_, arenas);
  convolution_.make_inputs(batch, arenas);
}

void Mamba2Block::fill_cache(int thread, int threads, std::uint64_t seed) {
  state_.fill(thread, threads, seed);
  convolution_.fill_inputs(thread, seed);
}

void Mamba2Block::run(StepContext& step, int thread) {
  Activations& a = step.activations;
  run_gemm(step, thread, op_in_, in_, {}, a.x.data(), a.qkv.data());
  convolution_.run(
      step, thread,
      {.x = a.qkv.data() + inner(), .stride = in_.rows(), .out = a.convolved.data(), .silu = true});
  recur(step, thread);
  step.recorder.finish(thread, op_recurrence_);
  run_gated_norm(step, thread, op_norm_,
                 {.x = a.recalled.data(),
                  .gates = {a.qkv.data(), in_.rows()},
                  .weight = norm_,
                  .groups = shape_.n_groups,
                  .width = inner() / shape_.n_groups,
                  .order = NormGate::silu_before,
                  .out = a.attention.data()});
  run_gemm(step, thread, op_out_, out_, {}, a.attention.data(), a.y.data());
}

void Mamba2Block::recur(StepContext& step, int thread) {
  const VectorRows time_steps{step.activations.qkv.data() + inner() + channels(), in_.rows()};
  const Bf16* const convolved = step.activations.convolved.data();
  RecurrenceTask task{
      .key_heads = shape_.n_groups,
      .rule = StateRule::linear,
      .keys = {convolved + inner(), channels()},
      .queries = {convolved + inner() + keys(), channels()},
      .values = {convolved, channels()},
      .control =
          [&](std::int64_t sequence, std::int64_t head) {
            const auto at = static_cast<std::size_t>(head);
            const float dt = softplus(element(time_steps, sequence, head) + time_step_bias_[at]);
            return HeadControl{
                .decay = std::exp(-decay_rates_[at] * dt), .strength = dt, .skip = skip_[at]};
          },
      .out = step.activations.recalled.data()};
  const RecurrenceReads reads = state_.run(step, thread, op_recurrence_, task);
  Traffic& bytes = step.recorder.bytes(thread, op_recurrence_);
  bytes.activations += Bytes{static_cast<double>(reads.items) * sizeof(Bf16)};
  const double parameters = 3.0 * static_cast<double>(shape_.n_heads);
  if (thread == 0) bytes.weights += Bytes{parameters * sizeof(Bf16)};
}

}  // namespace roofcast
