#include "model/attention/mamba2.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"

namespace {

using namespace roofcast;

constexpr double kHidden = 2688.0;

/// One Mamba-2 layer of Nemotron 3 Nano: inner width 4096, convolved width 4096 + 2 x 8 x 128.
Mamba2 nemotron() {
  return {.n_heads = 64,
          .head_dim = 64,
          .n_groups = 8,
          .state_dim = 128,
          .conv_kernel = 4,
          .conv_bias = true};
}

}  // namespace

TEST_CASE("Mamba-2 projects gate, inputs, B, C and time steps, and back") {
  CHECK(nemotron().parameters(kHidden).matrices == 2688.0 * (4096.0 + 6144.0 + 64.0 + 4096.0));
  // Four taps and a bias per channel; decay, skip and step bias per head; a norm of 4096.
  CHECK(nemotron().parameters(kHidden).vectors == 6144.0 * 5.0 + 3.0 * 64.0 + 4096.0);
  Mamba2 unbiased = nemotron();
  unbiased.conv_bias = false;
  CHECK(unbiased.parameters(kHidden).vectors == 6144.0 * 4.0 + 3.0 * 64.0 + 4096.0);
}

TEST_CASE("Mamba-2 keeps head_dim x state_dim elements per head and three inputs per channel") {
  CHECK(nemotron().cache(1.0).state == 64.0 * 64.0 * 128.0);
  CHECK(nemotron().cache(1e6).state == 64.0 * 64.0 * 128.0);
  CHECK(nemotron().cache(1e6).conv_state == 3.0 * 6144.0);
}

TEST_CASE("a decode step of Mamba-2 reads and writes the state and every parameter once") {
  const OperatorList ops = layer_operators(nemotron(), kHidden, {.sequences = 4, .context = 9.0});
  CHECK(operator_named(ops, "ssm_recurrence").bytes.state.value == 2.0 * 4.0 * 524288.0 * 4.0);
  CHECK(operator_named(ops, "ssm_conv").bytes.state.value == 2.0 * 4.0 * 18432.0 * 2.0);
  // Decay, outer product, output: 1 + 2 + 2 per element.
  CHECK(operator_named(ops, "ssm_recurrence").flops.value == 4.0 * 5.0 * 524288.0);
  CHECK(weight_bytes_of(ops) == 2.0 * nemotron().parameters(kHidden).total());
}

TEST_CASE("a prefill of Mamba-2 works in chunks of 128, one C B^T product per group") {
  const OperatorList ops =
      layer_operators(nemotron(), kHidden, {.query_len = 1280.0, .context = 0.0});
  // Per token and head 4 x 128 x 64 with the state and 2 x 128 x 64 inside; per group 2 x 128 x
  // 128.
  CHECK(operator_named(ops, "ssm_recurrence").flops.value ==
        1280.0 * (64.0 * (32768.0 + 16384.0) + 8.0 * 32768.0));
}

TEST_CASE("tensor parallelism splits Mamba-2 by heads; groups split up to their number") {
  CHECK(nemotron().cache_shards(16.0).state == 16.0);
  const OperatorList ops = layer_operators(nemotron(), kHidden, {.context = 1.0, .tp = 16});
  CHECK(operator_named(ops, "ssm_recurrence").bytes.state.value == 2.0 * 524288.0 * 4.0 / 16.0);
  // 4 heads of 64 and one group of B and C of 128 each.
  CHECK(operator_named(ops, "ssm_conv").bytes.state.value == 2.0 * 3.0 * 512.0 * 2.0);
  CHECK(operator_named(ops, "ssm_in_proj").bytes.weights.value ==
        2.0 * 2688.0 * (256.0 + 512.0 + 4.0));
}
