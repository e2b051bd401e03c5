#include "model/attention/short_conv.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"

namespace {

using namespace roofcast;

constexpr double kHidden = 2048.0;

/// One convolution layer of LFM2 1.2B.
ShortConvolution lfm2() { return {.conv_dim = 2048, .conv_kernel = 3}; }

}  // namespace

TEST_CASE("a gated short convolution has three input matrices, one output matrix and its taps") {
  CHECK(lfm2().parameters(kHidden).matrices == 4.0 * 2048.0 * 2048.0);
  CHECK(lfm2().parameters(kHidden).vectors == 3.0 * 2048.0);
  ShortConvolution biased = lfm2();
  biased.bias = true;
  CHECK(biased.parameters(kHidden).vectors == 3.0 * 2048.0 + 5.0 * 2048.0);
}

TEST_CASE("a gated short convolution keeps its last two inputs") {
  CHECK(lfm2().cache(1e6).conv_state == 4096.0);
  CHECK(lfm2().cache(1e6).state == 0.0);
  CHECK(lfm2().cache(1e6).k == 0.0);
}

TEST_CASE("a decode step of a short convolution reads and writes its inputs") {
  for (const bool bias : {false, true}) {
    ShortConvolution kind = lfm2();
    kind.bias = bias;
    const OperatorList ops = layer_operators(kind, kHidden, {.sequences = 5, .context = 9.0});
    CHECK(operator_named(ops, "short_conv").bytes.state.value == 2.0 * 5.0 * 4096.0 * 2.0);
    CHECK(operator_named(ops, "short_conv").flops.value == 5.0 * 2.0 * 2048.0 * 3.0);
    CHECK(weight_bytes_of(ops) == 2.0 * kind.parameters(kHidden).total());
  }
}

TEST_CASE("tensor parallelism splits the channels of a short convolution") {
  const OperatorList ops = layer_operators(lfm2(), kHidden, {.context = 9.0, .tp = 2});
  CHECK(operator_named(ops, "short_conv").bytes.state.value == 2.0 * 2048.0 * 2.0);
  CHECK(lfm2().cache_shards(2.0).state == 2.0);
}
