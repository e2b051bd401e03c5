#include "model/reference/dense_ffn_block.hpp"

namespace roofcast {
namespace {

/// Activations are split in whole cache lines, so that no two threads write one.
constexpr std::int64_t kLineElements = 32;

}  // namespace

DenseFfnBlock::DenseFfnBlock(const DenseFfn& ffn, const LayerSetup& setup)
    : ffn_(ffn),
      layer_(setup.layer),
      gated_(ffn.form == FfnForm::gated),
      op_up_(setup.operators.claim(setup.layer_class, gated_ ? "ffn_up_gate" : "ffn_up")),
      op_activation_(setup.operators.claim(setup.layer_class, "ffn_activation")),
      op_down_(setup.operators.claim(setup.layer_class, "ffn_down")),
      up_gate_(gated_ ? 2 * ffn.ffn_dim : ffn.ffn_dim, setup.hidden_dim, setup.arenas),
      down_(setup.hidden_dim, ffn.ffn_dim, setup.arenas) {
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
    weights({.tensor = is_gate ? Tensor::gate : Tensor::up,
             .layer = layer_,
             .row = is_gate ? row - ffn_.ffn_dim : row,
             .width = up_gate_.k()},
            out);
  });
  down_.fill(thread, [&](std::int64_t row, Bf16* out) {
    weights({.tensor = Tensor::down, .layer = layer_, .row = row, .width = down_.k()}, out);
  });
}

void DenseFfnBlock::run(StepContext& step, int thread) const {
  Activations& a = step.activations;
  run_gemm(step, thread, op_up_, up_gate_, up_gate_bias_, a.x.data(), a.up_gate.data());
  run_activation(step, thread);
  run_gemm(step, thread, op_down_, down_, down_bias_, a.hidden.data(), a.y.data());
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
                           .n = end - begin});
  }
  if (begin < end)
    step.recorder.bytes(thread, op_activation_).activations +=
        Bytes{static_cast<double>(step.batch * (end - begin) * (gated_ ? 3 : 2)) * sizeof(Bf16)};
  step.recorder.finish(thread, op_activation_);
}

}  // namespace roofcast
