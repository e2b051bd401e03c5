#include "model/reference/mamba1_block.hpp"

#include <algorithm>
#include <string>

#include "model/base/error.hpp"
#include "model/reference/recurrent_state.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kBf16PerState = sizeof(float) / sizeof(Bf16);

[[noreturn]] void refuse(const char* what) {
  throw UnsupportedError(std::string("the reference engine has no kernel for ") + what);
}

const Mamba1& checked(const Mamba1& m, const Formats& formats) {
  if (m.inner_norms) refuse("norms on time steps, B and C (\"inner_norms\")");
  if (m.inner_dim < 1 || m.inner_dim % kStateColumns != 0)
    refuse("a \"mamba1\" layer whose inner_dim is not a multiple of 16");
  if (m.state_dim < 1 || m.dt_rank < 2 || m.dt_rank % 2 != 0)
    refuse("a \"mamba1\" layer without state or with an odd dt_rank");
  if (state_format(formats) != StateFormat::fp32) refuse("\"mamba1\" states in bf16 (fp32 only)");
  return m;
}

}  // namespace

Mamba1Block::Mamba1Block(const Mamba1& shape, const LayerSetup& setup)
    : shape_(checked(shape, setup.formats)),
      layer_(setup.layer),
      op_in_(setup.operators.claim(setup.layer_class, "ssm_in_proj")),
      op_x_(setup.operators.claim(setup.layer_class, "ssm_x_proj")),
      op_dt_(setup.operators.claim(setup.layer_class, "ssm_dt_proj")),
      op_recurrence_(setup.operators.claim(setup.layer_class, "ssm_recurrence")),
      op_out_(setup.operators.claim(setup.layer_class, "attn_out_proj")),
      in_(make_matrix(setup, Component::attention, 2 * shape.inner_dim, setup.hidden_dim)),
      step_down_(make_matrix(setup, Component::attention, shape.dt_rank, shape.inner_dim)),
      bc_(make_matrix(setup, Component::attention, 2 * shape.state_dim, shape.inner_dim)),
      step_up_(make_matrix(setup, Component::attention, shape.inner_dim, shape.dt_rank)),
      out_(make_matrix(setup, Component::attention, setup.hidden_dim, shape.inner_dim)),
      convolution_("ssm_conv", shape.inner_dim, shape.conv_kernel, shape.conv_bias, setup),
      time_step_bias_(load_vector(setup.weights, Tensor::time_step_bias, layer_, shape.inner_dim)),
      skip_(load_vector(setup.weights, Tensor::skip, layer_, shape.inner_dim)) {
  const int threads = static_cast<int>(setup.arenas.size());
  for (int thread = 0; thread < threads; ++thread) {
    const Range blocks = part_of(shape.inner_dim / kStateColumns, thread, threads);
    Slab& slab = slabs_.emplace_back();
    slab.channels = {blocks.begin * kStateColumns, blocks.end * kStateColumns};
    slab.b.resize(static_cast<std::size_t>(shape.state_dim));
    slab.c.resize(slab.b.size());
    if (blocks.size() > 0)
      slab.rates = setup.arenas[static_cast<std::size_t>(thread)].take(slab.channels.size() *
                                                                       shape.state_dim);
  }
}

std::int64_t Mamba1Block::place(const Slab& slab, std::int64_t channel,
                                std::int64_t element) const {
  const std::int64_t at = channel - slab.channels.begin;
  return (at / kStateColumns * shape_.state_dim + element) * kStateColumns + at % kStateColumns;
}

void Mamba1Block::fill(int thread, const WeightSource& weights) {
  fill_stacked(in_, thread, layer_, {{Tensor::mixer_in, in_.rows()}}, weights);
  step_down_.fill(thread, [&](std::int64_t row, Bf16* out) {
    weights({.tensor = Tensor::scan_in, .layer = layer_, .row = row, .width = step_down_.k()}, out);
  });
  bc_.fill(thread, [&](std::int64_t row, Bf16* out) {
    weights(
        {.tensor = Tensor::scan_in, .layer = layer_, .row = shape_.dt_rank + row, .width = bc_.k()},
        out);
  });
  fill_stacked(step_up_, thread, layer_, {{Tensor::time_step, step_up_.rows()}}, weights);
  fill_stacked(out_, thread, layer_, {{Tensor::attn_out, out_.rows()}}, weights);
  convolution_.fill(thread, weights);
  const Slab& slab = slabs_[static_cast<std::size_t>(thread)];
  std::vector<Bf16> row(static_cast<std::size_t>(shape_.state_dim));
  for (std::int64_t channel = slab.channels.begin; channel < slab.channels.end; ++channel) {
    weights(
        {.tensor = Tensor::decay_log, .layer = layer_, .row = channel, .width = shape_.state_dim},
        row.data());
    for (std::int64_t i = 0; i < shape_.state_dim; ++i)
      slab.rates[place(slab, channel, i)] =
          float_to_bf16(std::exp(bf16_to_float(row[static_cast<std::size_t>(i)])));
  }
}

void Mamba1Block::reserve(std::int64_t batch, int, Activations& a) const {
  make_room(a.qkv, batch * in_.rows());
  make_room(a.convolved, batch * shape_.inner_dim);
  make_room(a.narrow, batch * (shape_.dt_rank + 2 * shape_.state_dim));
  make_room(a.controls, batch * shape_.inner_dim);
  make_room(a.attention, batch * shape_.inner_dim);
}

void Mamba1Block::make_cache(std::int64_t batch, std::int64_t, Arenas& arenas) {
  batch_ = batch;
  for (std::size_t thread = 0; thread < slabs_.size(); ++thread) {
    const std::int64_t elements = batch * slabs_[thread].channels.size() * shape_.state_dim;
    slabs_[thread].states = elements > 0 ? arenas[thread].take(elements * kBf16PerState) : nullptr;
  }
  convolution_.make_inputs(batch, arenas);
}

void Mamba1Block::fill_cache(int thread, int, std::uint64_t seed) {
  const Slab& slab = slabs_[static_cast<std::size_t>(thread)];
  // The upper half of an fp32 value is a bf16 value, and any lower half will do.
  fill_random(seed * 1000003U + static_cast<std::uint64_t>(thread), slab.states,
              batch_ * slab.channels.size() * shape_.state_dim * kBf16PerState);
  convolution_.fill_inputs(thread, seed);
}

float* Mamba1Block::Slab::state(std::int64_t sequence, std::int64_t state_dim) const {
  return reinterpret_cast<float*>(states) + sequence * channels.size() * state_dim;
}

float Mamba1Block::state_at(std::int64_t sequence, std::int64_t channel,
                            std::int64_t element) const {
  const auto slab = std::find_if(slabs_.begin(), slabs_.end(), [channel](const Slab& s) {
    return s.channels.begin <= channel && channel < s.channels.end;
  });
  return slab->state(sequence, shape_.state_dim)[place(*slab, channel, element)];
}

void Mamba1Block::run(StepContext& step, int thread) {
  Activations& a = step.activations;
  Bf16* const narrow_steps = a.narrow.data();
  Bf16* const bc = narrow_steps + step.batch * shape_.dt_rank;
  run_gemm(step, thread, op_in_, in_, {}, a.x.data(), a.qkv.data());
  convolution_.run(
      step, thread,
      {.x = a.qkv.data(), .stride = in_.rows(), .out = a.convolved.data(), .silu = true});
  const ProductRows products[] = {{step_down_, narrow_steps}, {bc_, bc}};
  run_products(step, thread, op_x_, products, a.convolved.data());
  run_gemm(step, thread, op_dt_, step_up_, time_step_bias_, narrow_steps, a.controls.data());
  scan(step, thread);
  step.recorder.finish(thread, op_recurrence_);
  run_gemm(step, thread, op_out_, out_, {}, a.attention.data(), a.y.data());
}

void Mamba1Block::scan(StepContext& step, int thread) {
  const Activations& a = step.activations;
  Slab& slab = slabs_[static_cast<std::size_t>(thread)];
  const std::int64_t n = slab.channels.size();
  if (n == 0) return;
  const VectorRows bc{a.narrow.data() + step.batch * shape_.dt_rank, bc_.rows()};
  for (std::int64_t sequence = 0; sequence < step.batch; ++sequence) {
    const std::int64_t at = sequence * shape_.inner_dim + slab.channels.begin;
    for (std::int64_t i = 0; i < shape_.state_dim; ++i) {
      slab.b[static_cast<std::size_t>(i)] = element(bc, sequence, i);
      slab.c[static_cast<std::size_t>(i)] = element(bc, sequence, shape_.state_dim + i);
    }
    step.kernels.scan(
        {.state = slab.state(sequence, shape_.state_dim),
         .rates = slab.rates,
         .steps = a.controls.data() + at,
         .x = a.convolved.data() + at,
         .gate = a.qkv.data() + sequence * in_.rows() + shape_.inner_dim + slab.channels.begin,
         .skip = skip_.data() + slab.channels.begin,
         .b = slab.b.data(),
         .c = slab.c.data(),
         .out = step.activations.attention.data() + at,
         .n = n,
         .state_dim = shape_.state_dim});
  }
  Traffic& bytes = step.recorder.bytes(thread, op_recurrence_);
  const auto batch = static_cast<double>(step.batch);
  const auto channels = static_cast<double>(n);
  const auto state_dim = static_cast<double>(shape_.state_dim);
  bytes.weights += Bytes{channels * (1.0 + state_dim) * sizeof(Bf16)};
  bytes.state += Bytes{2.0 * batch * channels * state_dim * sizeof(float)};
  bytes.activations += Bytes{batch * (4.0 * channels + 2.0 * state_dim) * sizeof(Bf16)};
}

}  // namespace roofcast
