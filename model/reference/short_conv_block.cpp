#include "model/reference/short_conv_block.hpp"

namespace roofcast {

ShortConvBlock::ShortConvBlock(const ShortConvolution& shape, const LayerSetup& setup)
    : shape_(shape),
      layer_(setup.layer),
      op_in_(setup.operators.claim(setup.layer_class, "conv_in_proj")),
      op_gates_(setup.operators.claim(setup.layer_class, "conv_gates")),
      op_out_(setup.operators.claim(setup.layer_class, "attn_out_proj")),
      in_(make_matrix(setup, Component::attention, 3 * shape.conv_dim, setup.hidden_dim)),
      out_(make_matrix(setup, Component::attention, setup.hidden_dim, shape.conv_dim)),
      convolution_("short_conv", shape.conv_dim, shape.conv_kernel, shape.bias, setup) {
  if (!shape.bias) return;
  in_bias_ = load_vector(setup.weights, Tensor::mixer_in_bias, layer_, in_.rows());
  out_bias_ = load_vector(setup.weights, Tensor::attn_out_bias, layer_, out_.rows());
}

void ShortConvBlock::fill(int thread, const WeightSource& weights) {
  fill_stacked(in_, thread, layer_, {{Tensor::mixer_in, in_.rows()}}, weights);
  fill_stacked(out_, thread, layer_, {{Tensor::attn_out, out_.rows()}}, weights);
  convolution_.fill(thread, weights);
}

void ShortConvBlock::reserve(std::int64_t batch, int, Activations& a) const {
  make_room(a.qkv, batch * in_.rows());
  make_room(a.convolved, batch * shape_.conv_dim);
  make_room(a.attention, batch * shape_.conv_dim);
}

void ShortConvBlock::run(StepContext& step, int thread) {
  Activations& a = step.activations;
  run_gemm(step, thread, op_in_, in_, in_bias_, a.x.data(), a.qkv.data());
  convolution_.run(step, thread,
                   {.x = a.qkv.data() + 2 * shape_.conv_dim,
                    .gate = a.qkv.data(),
                    .stride = in_.rows(),
                    .out = a.convolved.data()});
  run_gates(step, thread);
  run_gemm(step, thread, op_out_, out_, out_bias_, a.attention.data(), a.y.data());
}

void ShortConvBlock::run_gates(StepContext& step, int thread) {
  const Activations& a = step.activations;
  const Range own = convolution_.slab(thread);
  for (std::int64_t sequence = 0; sequence < step.batch && own.size() > 0; ++sequence) {
    const std::int64_t at = sequence * shape_.conv_dim + own.begin;
    const Bf16* const gate = a.qkv.data() + sequence * in_.rows() + shape_.conv_dim + own.begin;
    step.kernels.multiply(gate, a.convolved.data() + at, step.activations.attention.data() + at,
                          own.size());
  }
  // The operator list counts both gates here; that of the input is read by the convolution.
  const auto elements = 4.0 * static_cast<double>(step.batch * own.size());
  step.recorder.bytes(thread, op_gates_).activations += Bytes{elements * sizeof(Bf16)};
  step.recorder.finish(thread, op_gates_);
}

}  // namespace roofcast
