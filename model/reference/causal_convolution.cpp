#include "model/reference/causal_convolution.hpp"

#include <algorithm>
#include <string>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

/// Channels are split in whole cache lines, so that no two threads write one.
constexpr std::int64_t kLineElements = 32;

void check_supported(const Formats& formats, std::int64_t kernel) {
  const Storage& storage = formats[Component::conv_state];
  if (storage != storage_of(*find_format("bf16")))
    throw UnsupportedError("the reference engine has no kernel for a convolution state in " +
                           std::string(storage.format.name()) + " (bf16 only)");
  if (kernel < 1)
    throw UnsupportedError("the reference engine has no kernel for a convolution without taps");
}

}  // namespace

CausalConvolution::CausalConvolution(std::string_view op, std::int64_t channels,
                                     std::int64_t kernel, bool bias, const LayerSetup& setup)
    : layer_(setup.layer),
      op_(setup.operators.claim(setup.layer_class, op)),
      channels_(channels),
      kernel_(kernel) {
  check_supported(setup.formats, kernel);
  if (bias) bias_ = load_vector(setup.weights, Tensor::conv_bias, layer_, channels);
  const std::int64_t lines = (channels + kLineElements - 1) / kLineElements;
  const int threads = static_cast<int>(setup.arenas.size());
  for (int thread = 0; thread < threads; ++thread) {
    const Range own = part_of(lines, thread, threads);
    Slab& slab = slabs_.emplace_back();
    slab.channels = {own.begin * kLineElements, std::min(own.end * kLineElements, channels)};
    if (slab.channels.size() > 0)
      slab.taps =
          setup.arenas[static_cast<std::size_t>(thread)].take(kernel * slab.channels.size());
  }
}

void CausalConvolution::fill(int thread, const WeightSource& weights) {
  const Slab& slab = slabs_[static_cast<std::size_t>(thread)];
  std::vector<Bf16> taps(static_cast<std::size_t>(kernel_));
  const std::int64_t n = slab.channels.size();
  for (std::int64_t c = 0; c < n; ++c) {
    weights(
        {.tensor = Tensor::conv, .layer = layer_, .row = slab.channels.begin + c, .width = kernel_},
        taps.data());
    for (std::int64_t j = 0; j < kernel_; ++j)
      slab.taps[j * n + c] = taps[static_cast<std::size_t>(j)];
  }
}

void CausalConvolution::make_inputs(std::int64_t batch, Arenas& arenas) {
  batch_ = batch;
  for (std::size_t thread = 0; thread < slabs_.size(); ++thread) {
    const std::int64_t elements = batch * (kernel_ - 1) * slabs_[thread].channels.size();
    slabs_[thread].inputs = elements > 0 ? arenas[thread].take(elements) : nullptr;
  }
}

void CausalConvolution::fill_inputs(int thread, std::uint64_t seed) {
  const Slab& slab = slabs_[static_cast<std::size_t>(thread)];
  fill_random(seed * 1000003U + static_cast<std::uint64_t>(thread), slab.inputs,
              batch_ * (kernel_ - 1) * slab.channels.size());
}

void CausalConvolution::run(StepContext& step, int thread, const ConvolutionRows& rows) {
  const Slab& slab = slabs_[static_cast<std::size_t>(thread)];
  const std::int64_t first = slab.channels.begin;
  const std::int64_t n = slab.channels.size();
  const std::int64_t kept = (kernel_ - 1) * n;
  for (std::int64_t sequence = 0; sequence < step.batch && n > 0; ++sequence) {
    const std::int64_t at = sequence * rows.stride + first;
    step.kernels.convolve({.taps = slab.taps,
                           .bias = bias_.empty() ? nullptr : bias_.data() + first,
                           .inputs = slab.inputs + sequence * kept,
                           .x = rows.x + at,
                           .gate = rows.gate == nullptr ? nullptr : rows.gate + at,
                           .out = rows.out + sequence * channels_ + first,
                           .kernel = kernel_,
                           .n = n,
                           .silu = rows.silu});
  }
  Traffic& bytes = step.recorder.bytes(thread, op_);
  bytes.weights += bf16_bytes(n * (kernel_ + (bias_.empty() ? 0 : 1)));
  bytes.state += bf16_bytes(2 * step.batch * kept);
  bytes.activations += bf16_bytes(2 * step.batch * n);
  step.recorder.finish(thread, op_);
}

float CausalConvolution::input_at(std::int64_t sequence, std::int64_t age,
                                  std::int64_t channel) const {
  const auto slab = std::find_if(slabs_.begin(), slabs_.end(), [channel](const Slab& s) {
    return s.channels.begin <= channel && channel < s.channels.end;
  });
  const std::int64_t place = sequence * (kernel_ - 1) + kernel_ - 1 - age;
  return bf16_to_float(
      slab->inputs[place * slab->channels.size() + channel - slab->channels.begin]);
}

}  // namespace roofcast
