#include "model/reference/dense_ffn_block.hpp"

#include <algorithm>

namespace roofcast {
namespace {

/// Activations are split in whole cache lines, so that no two threads write one.
constexpr std::int64_t kLineElements = 32;

}  // namespace

Activation activation_of(const ModelSemantics& semantics, FfnForm form) {
  return semantics.activation.value_or(form == FfnForm::gated ? Activation::silu
                                                              : Activation::gelu);
}

DenseFfnBlock::DenseFfnBlock(const DenseFfn& ffn, const LayerSetup& setup, const DensePart& part)
    : ffn_(ffn),
      part_(part),
      layer_(setup.layer),
      gated_(ffn.form == FfnForm::gated),
      activation_(activation_of(setup.semantics, ffn.form)),
      op_up_(setup.operators.claim(setup.layer_class, gated_ ? part.up_gate : part.up)),
      op_activation_(setup.operators.claim(setup.layer_class, part.activation)),
      op_down_(setup.operators.claim(setup.layer_class, part.down)),
      up_gate_(make_matrix(setup, part.component, gated_ ? 2 * ffn.ffn_dim : ffn.ffn_dim,
                           setup.hidden_dim)),
      down_(make_matrix(setup, part.component, setup.hidden_dim, ffn.ffn_dim)) {
  if (!ffn.bias) return;
  up_gate_bias_ = load_vector(setup.weights, Tensor::up_bias, layer_, ffn.ffn_dim);
  if (gated_) {
    const auto gate = load_vector(setup.weights, Tensor::gate_bias, layer_, ffn.ffn_dim);
    up_gate_bias_.insert(up_gate_bias_.end(), gate.begin(), gate.end());
  }
  down_bias_ = load_vector(setup.weights, Tensor::down_bias, layer_, setup.hidden_dim);
}

void DenseFfnBlock::fill(int thread, const WeightSource& weights) {
  up_gate_.fill(thread, [&](std::int64_t row, Bf16* out) {
    const bool is_gate = row >= ffn_.ffn_dim;
    weights({.tensor = is_gate ? part_.gate_weights : part_.up_weights,
             .layer = layer_,
             .row = is_gate ? row - ffn_.ffn_dim : row,
             .width = up_gate_.k()},
            out);
  });
  down_.fill(thread, [&](std::int64_t row, Bf16* out) {
    weights({.tensor = part_.down_weights, .layer = layer_, .row = row, .width = down_.k()}, out);
  });
}

void DenseFfnBlock::reserve(std::int64_t batch, int, Activations& a) const {
  a.up_gate.resize(std::max(a.up_gate.size(), static_cast<std::size_t>(batch * up_gate_.rows())));
  a.hidden.resize(std::max(a.hidden.size(), static_cast<std::size_t>(batch * ffn_.ffn_dim)));
}

void DenseFfnBlock::run_inputs(StepContext& step, int thread) const {
  Activations& a = step.activations;
  run_gemm(step, thread, op_up_, up_gate_, up_gate_bias_, a.x.data(), a.up_gate.data());
  run_activation(step, thread);
}

void DenseFfnBlock::run(StepContext& step, int thread) const {
  Activations& a = step.activations;
  run_inputs(step, thread);
  run_gemm(step, thread, op_down_, down_, down_bias_, a.hidden.data(), a.y.data());
}

void DenseFfnBlock::run_beside(StepContext& step, int thread, const float* gates) const {
  Activations& a = step.activations;
  run_inputs(step, thread);
  multiply_own_rows(step, thread, op_down_, down_, down_bias_, a.hidden.data(), a.part.data());
  // Added while still cached, like the epilogue of a product; the rows are this thread's own.
  const Range rows = down_.slab(thread);
  for (std::int64_t token = 0; token < step.batch && rows.size() > 0; ++token) {
    const std::int64_t at = token * down_.rows() + rows.begin;
    const Bf16* const both[] = {a.y.data() + at, a.part.data() + at};
    const float weights[] = {1.0F, gates == nullptr ? 1.0F : gates[token]};
    step.kernels.weighted_sum(
        {.rows = both, .weights = weights, .count = 2, .out = a.y.data() + at, .n = rows.size()});
  }
  step.recorder.finish(thread, op_down_);
}

void DenseFfnBlock::run_activation(StepContext& step, int thread) const {
  const std::int64_t width = ffn_.ffn_dim;
  const std::int64_t lines = (width + kLineElements - 1) / kLineElements;
  const Range own = part_of(lines, thread, step.pool.size());
  const std::int64_t begin = own.begin * kLineElements;
  const std::int64_t end = std::min(own.end * kLineElements, width);
  const std::int64_t inputs = up_gate_.rows();
  for (std::int64_t row = 0; row < step.batch && begin < end; ++row) {
    const Bf16* const up = step.activations.up_gate.data() + row * inputs + begin;
    step.kernels.activate({.up = up,
                           .gate = gated_ ? up + width : nullptr,
                           .out = step.activations.hidden.data() + row * width + begin,
                           .n = end - begin,
                           .kind = activation_});
  }
  if (begin < end)
    step.recorder.bytes(thread, op_activation_).activations +=
        Bytes{static_cast<double>(step.batch * (end - begin) * (gated_ ? 3 : 2)) * sizeof(Bf16)};
  step.recorder.finish(thread, op_activation_);
}

}  // namespace roofcast
