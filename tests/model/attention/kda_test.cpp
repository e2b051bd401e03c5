#include "model/attention/kda.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"

namespace {

using namespace roofcast;

/// One KDA layer of Kimi Linear 48B (hidden 2304) and of Kimi K3 (hidden 7168).
KimiDeltaAttention kimi_linear() { return {.n_heads = 32, .head_dim = 128, .conv_kernel = 4}; }
KimiDeltaAttention kimi_k3() {
  return {.n_heads = 96, .head_dim = 128, .conv_kernel = 4, .full_rank_gate = true};
}

}  // namespace

TEST_CASE("KDA has four wide matrices, a low-rank decay and a low-rank or full gate") {
  // q, k, v, o: 2304 x 4096 each; decay and gate: 2304 x 128 + 128 x 4096; strength 2304 x 32.
  CHECK(kimi_linear().parameters(2304.0).matrices == 37748736.0 + 2.0 * 819200.0 + 73728.0);
  // 12 convolved thousands of channels x 4 taps, decay per head, step bias per channel, a norm.
  CHECK(kimi_linear().parameters(2304.0).vectors == 49152.0 + 32.0 + 4096.0 + 128.0);
  // 7168 x 12288 five times, decay 7168 x 128 + 128 x 12288, strength 7168 x 96.
  CHECK(kimi_k3().parameters(7168.0).matrices == 5.0 * 88080384.0 + 2490368.0 + 688128.0);
}

TEST_CASE("KDA keeps a head_dim x head_dim matrix per head and the inputs of three convolutions") {
  CHECK(kimi_linear().cache(1e6).state == 32.0 * 16384.0);
  CHECK(kimi_linear().cache(1e6).conv_state == 3.0 * 3.0 * 4096.0);
  CHECK(kimi_linear().cache(1e6).k == 0.0);
  CHECK(kimi_linear().cache_shards(8.0).state == 8.0);
  CHECK(kimi_linear().cache_shards(64.0).state == 32.0);
}

TEST_CASE("a decode step of KDA reads and writes the state and every parameter once") {
  for (const auto& [kind, hidden] :
       {std::pair{kimi_linear(), 2304.0}, std::pair{kimi_k3(), 7168.0}}) {
    const OperatorList ops = layer_operators(kind, hidden, {.sequences = 2, .context = 1000.0});
    const double state = static_cast<double>(kind.n_heads) * 16384.0;
    CHECK(operator_named(ops, "delta_recurrence").bytes.state.value == 2.0 * 2.0 * state * 4.0);
    CHECK(operator_named(ops, "delta_recurrence").flops.value == 2.0 * 7.0 * state);
    CHECK(weight_bytes_of(ops) == 2.0 * kind.parameters(hidden).total());
  }
}

TEST_CASE("tensor parallelism splits the heads of KDA, not the narrow halves of its gates") {
  const OperatorList ops = layer_operators(kimi_k3(), 7168.0, {.context = 1.0, .tp = 8});
  CHECK(operator_named(ops, "delta_recurrence").shape.heads == 12.0);
  CHECK(operator_named(ops, "delta_qkv_proj").bytes.weights.value == 2.0 * 3.0 * 88080384.0 / 8.0);
  // 128 rows of the decay, 12 heads, 1536 rows of the gate.
  CHECK(operator_named(ops, "delta_gate_down_proj").bytes.weights.value ==
        2.0 * 7168.0 * (128.0 + 12.0 + 1536.0));
}

TEST_CASE("a prefill of KDA is linear in its tokens") {
  const auto flops = [](double tokens) {
    return operator_named(layer_operators(kimi_k3(), 7168.0, {.query_len = tokens, .context = 0.0}),
                          "delta_recurrence")
        .flops.value;
  };
  CHECK(flops(2000.0) == 2.0 * flops(1000.0));
  CHECK(flops(1000.0) == 1000.0 * 96.0 * (98304.0 + 81920.0 + 4096.0));
}
