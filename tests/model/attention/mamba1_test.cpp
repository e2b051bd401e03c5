#include "model/attention/mamba1.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"

namespace {

using namespace roofcast;

constexpr double kHidden = 4096.0;

/// One layer of Falcon Mamba 7B.
Mamba1 falcon() {
  return {.inner_dim = 8192, .state_dim = 16, .dt_rank = 256, .conv_kernel = 4, .conv_bias = true};
}

}  // namespace

TEST_CASE("Mamba has input, selection, time step and output matrices") {
  // 4096 x 16384 in and 8192 x 4096 out, 8192 x (256 + 32), 256 x 8192.
  CHECK(falcon().parameters(kHidden).matrices == 100663296.0 + 2359296.0 + 2097152.0);
  // Four taps and a bias, step bias, skip, 16 decays per channel.
  CHECK(falcon().parameters(kHidden).vectors == 8192.0 * (5.0 + 2.0 + 16.0));
  Mamba1 jamba = falcon();
  jamba.inner_norms = true;
  CHECK(jamba.parameters(kHidden).vectors - falcon().parameters(kHidden).vectors == 288.0);
}

TEST_CASE("Mamba keeps state_dim elements and three inputs per channel") {
  CHECK(falcon().cache(1e6).state == 131072.0);
  CHECK(falcon().cache(1e6).conv_state == 24576.0);
  CHECK(falcon().cache_shards(8.0).state == 8.0);
}

TEST_CASE("a decode step of Mamba reads and writes the state and every parameter once") {
  const OperatorList ops = layer_operators(falcon(), kHidden, {.sequences = 2, .context = 9.0});
  CHECK(operator_named(ops, "ssm_recurrence").bytes.state.value == 2.0 * 2.0 * 131072.0 * 4.0);
  CHECK(operator_named(ops, "ssm_conv").bytes.state.value == 2.0 * 2.0 * 24576.0 * 2.0);
  CHECK(weight_bytes_of(ops) == 2.0 * falcon().parameters(kHidden).total());
}

TEST_CASE("a scan of Mamba is linear in tokens and keeps its state on chip") {
  const OperatorList ops =
      layer_operators(falcon(), kHidden, {.query_len = 1000.0, .context = 0.0});
  CHECK(operator_named(ops, "ssm_recurrence").flops.value == 1000.0 * 7.0 * 131072.0);
  CHECK(operator_named(ops, "ssm_recurrence").bytes.activations.value ==
        2.0 * 1000.0 * (4.0 * 8192.0 + 32.0));
}

TEST_CASE("tensor parallelism splits the channels of Mamba") {
  const OperatorList ops = layer_operators(falcon(), kHidden, {.context = 1.0, .tp = 4});
  CHECK(operator_named(ops, "ssm_recurrence").bytes.state.value == 2.0 * 131072.0 * 4.0 / 4.0);
  CHECK(operator_named(ops, "ssm_x_proj").bytes.weights.value == 2.0 * 288.0 * 2048.0);
}
