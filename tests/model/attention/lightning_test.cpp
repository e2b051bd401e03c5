#include "model/attention/lightning.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"

namespace {

using namespace roofcast;

constexpr double kHidden = 6144.0;

/// One linear layer of MiniMax-Text-01.
LightningAttention minimax() { return {.n_heads = 64, .head_dim = 128}; }

}  // namespace

TEST_CASE("lightning attention has q, k, v, gate and output matrices and a norm over all heads") {
  CHECK(minimax().parameters(kHidden).matrices == 5.0 * 6144.0 * 8192.0);
  CHECK(minimax().parameters(kHidden).vectors == 8192.0);
}

TEST_CASE("lightning attention keeps a head_dim x head_dim matrix per head") {
  CHECK(minimax().cache(1e6).state == 64.0 * 16384.0);
  CHECK(minimax().cache(1e6).conv_state == 0.0);
  CHECK(minimax().cache_shards(8.0).state == 8.0);
  CHECK(minimax().cache_shards(128.0).state == 64.0);
}

TEST_CASE("a decode step of lightning attention reads and writes the state") {
  const OperatorList ops = layer_operators(minimax(), kHidden, {.sequences = 2, .context = 9.0});
  CHECK(operator_named(ops, "linear_recurrence").bytes.state.value == 2.0 * 2.0 * 1048576.0 * 4.0);
  CHECK(operator_named(ops, "linear_recurrence").flops.value == 2.0 * 5.0 * 1048576.0);
  // Beside the parameters, the 64 decays, which are constants of the architecture.
  CHECK(weight_bytes_of(ops) == 2.0 * (minimax().parameters(kHidden).total() + 64.0));
}

TEST_CASE("a prefill of lightning attention works in chunks of 256") {
  const OperatorList ops =
      layer_operators(minimax(), kHidden, {.query_len = 1024.0, .context = 0.0});
  // Per token and head 4 x 128 x 128 with the state and 2 x 256 x 256 inside the chunk.
  CHECK(operator_named(ops, "linear_recurrence").flops.value ==
        1024.0 * 64.0 * (65536.0 + 131072.0));
}

TEST_CASE("tensor parallelism splits the heads of lightning attention") {
  const OperatorList ops = layer_operators(minimax(), kHidden, {.context = 9.0, .tp = 8});
  CHECK(operator_named(ops, "linear_recurrence").bytes.state.value == 2.0 * 1048576.0 * 4.0 / 8.0);
  CHECK(operator_named(ops, "qkv_proj").bytes.weights.value == 2.0 * 3.0 * 6144.0 * 1024.0);
}
