#include "model/architecture/feed_forward.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"
#include "tests/relative.hpp"

namespace {

using namespace roofcast;
using roofcast::test::relative;

constexpr double kHidden = 2048.0;

/// Experts of Qwen3-30B-A3B.
MoeFfn qwen() { return {.n_experts = 128, .n_experts_per_token = 8, .expert_dim = 768}; }

/// A step of `tokens` sequences of one new token each.
StepShape decode_of(double tokens, int tp = 1) {
  return {.sequences = tokens, .query_len = 1.0, .context = 0.0, .tp = tp};
}

}  // namespace

TEST_CASE("a gated block has three matrices and a plain one has two") {
  DenseFfn ffn{.ffn_dim = 14336};
  CHECK(ffn.parameters(4096.0).dense == 3.0 * 4096.0 * 14336.0);
  ffn.form = FfnForm::plain;
  CHECK(ffn.parameters(4096.0).dense == 2.0 * 4096.0 * 14336.0);
  ffn.bias = true;
  CHECK(ffn.parameters(4096.0).vectors == 14336.0 + 4096.0);
}

TEST_CASE("a dense block reads its matrices once, whatever the batch") {
  const DenseFfn ffn{.ffn_dim = 14336};
  for (const double batch : {1.0, 64.0}) {
    const OperatorList ops = layer_operators(ffn, 4096.0, decode_of(batch));
    CHECK(weight_bytes_of(ops) == 2.0 * 3.0 * 4096.0 * 14336.0);
    CHECK(total_work(ops).flops.value == 2.0 * batch * 3.0 * 4096.0 * 14336.0);
  }
  const OperatorList ops = layer_operators(ffn, 4096.0, decode_of(64.0, 8));
  CHECK(weight_bytes_of(ops) == 2.0 * 3.0 * 4096.0 * 1792.0);
  CHECK(operator_named(ops, "ffn_all_reduce").bytes.collective.value == 64.0 * 4096.0 * 2.0);
}

// Published case: github.com/inference-sim/inference-sim issue 764 and pull 790.
TEST_CASE("distinct experts of a step are E (1 - (1 - k/E)^B)") {
  CHECK(expected_distinct_experts(8.0, 2.0, 3.0) == relative(4.625).epsilon(1e-12));
  CHECK(expected_distinct_experts(128.0, 8.0, 8.0) == relative(51.6).epsilon(1e-3));
  CHECK(expected_distinct_experts(128.0, 8.0, 32.0) == relative(111.8).epsilon(1e-3));
}

TEST_CASE("one token hits exactly its experts, and no batch hits more than there are") {
  CHECK(expected_distinct_experts(896.0, 16.0, 1.0) == 16.0);
  CHECK(expected_distinct_experts(3.0, 1.0, 1.0) == 1.0);
  CHECK(expected_distinct_experts(8.0, 8.0, 5.0) == 8.0);
  CHECK(expected_distinct_experts(128.0, 8.0, 1e9) == relative(128.0));
  double before = 0.0;
  for (double tokens = 1.0; tokens < 600.0; tokens *= 2.0) {
    const double hit = expected_distinct_experts(256.0, 8.0, tokens);
    CHECK(hit > before);
    CHECK(hit <= 256.0);
    before = hit;
  }
}

TEST_CASE("experts count all for memory and k for a token") {
  const FfnParameters p = qwen().parameters(kHidden);
  CHECK(p.routed == 128.0 * 3.0 * 2048.0 * 768.0);
  CHECK(p.routed_active == 8.0 * 3.0 * 2048.0 * 768.0);
  CHECK(p.router == 128.0 * 2048.0);
  CHECK(p.total() - p.active() == 120.0 * 3.0 * 2048.0 * 768.0);
}

TEST_CASE("a step reads the distinct experts and computes k per token") {
  const double expert = 3.0 * 2048.0 * 768.0;
  const OperatorList one = layer_operators(qwen(), kHidden, decode_of(1.0));
  CHECK(operator_named(one, "moe_experts").bytes.weights.value == 8.0 * expert * 2.0);
  CHECK(operator_named(one, "moe_experts").flops.value == 2.0 * 8.0 * expert);
  const OperatorList eight = layer_operators(qwen(), kHidden, decode_of(8.0));
  // 128 (1 - (15/16)^8) = 51.6183...
  CHECK(operator_named(eight, "moe_experts").bytes.weights.value ==
        relative(51.618 * expert * 2.0).epsilon(1e-4));
  CHECK(operator_named(eight, "moe_experts").flops.value == 2.0 * 8.0 * 8.0 * expert);
}

TEST_CASE("under tensor parallelism every rank reads its slice of the same experts") {
  const OperatorList ops = layer_operators(qwen(), kHidden, decode_of(8.0, 4));
  CHECK(operator_named(ops, "moe_experts").shape.experts_hit == relative(51.618).epsilon(1e-4));
  CHECK(operator_named(ops, "moe_experts").shape.n == 192.0);
  CHECK(operator_named(ops, "router").bytes.weights.value == 128.0 * 2048.0 * 2.0);
}

TEST_CASE("shared experts, their gate and a parallel dense block are read in every step") {
  MoeFfn moe = qwen();
  moe.n_shared_experts = 2;
  moe.shared_expert_dim = 512;
  moe.shared_gate = true;
  moe.router_bias = true;
  moe.dense_dim = 1024;
  const FfnParameters p = moe.parameters(kHidden);
  CHECK(p.shared == 1024.0 * 3.0 * 2048.0);
  CHECK(p.dense == 1024.0 * 3.0 * 2048.0);
  CHECK(p.vectors == 128.0 + 2048.0);
  const OperatorList ops = layer_operators(moe, kHidden, decode_of(1.0));
  CHECK(operator_named(ops, "shared_up_gate").bytes.weights.value == 2.0 * 2.0 * 1024.0 * 2048.0);
  CHECK(operator_named(ops, "ffn_down").bytes.weights.value == 2.0 * 1024.0 * 2048.0);
}

TEST_CASE("latent experts work in a narrower space that two matrices and a norm lead to and from") {
  // Experts of Kimi K3: 3584 of 7168 dimensions, 3072 wide.
  MoeFfn moe{.n_experts = 896, .n_experts_per_token = 16, .expert_dim = 3072, .latent_dim = 3584};
  CHECK(moe.parameters(7168.0).routed == 896.0 * 33030144.0);  // as in the released files
  CHECK(moe.parameters(7168.0).shared == 2.0 * 7168.0 * 3584.0);
  CHECK(moe.parameters(7168.0).vectors == 0.0);
  moe.latent_norm = true;
  CHECK(moe.parameters(7168.0).vectors == 3584.0);
  const OperatorList ops = layer_operators(moe, 7168.0, decode_of(1.0));
  CHECK(operator_named(ops, "moe_experts").bytes.weights.value == 16.0 * 33030144.0 * 2.0);
  CHECK(weight_bytes_of(ops) == 2.0 * moe.parameters(7168.0).active());
}

TEST_CASE("biases of experts count with each expert") {
  // gpt-oss: hidden 2880, experts 2880 wide with biases on all matrices.
  const MoeFfn moe{
      .n_experts = 32, .n_experts_per_token = 4, .expert_dim = 2880, .expert_bias = true};
  CHECK(moe.parameters(2880.0).routed == 32.0 * (3.0 * 2880.0 * 2880.0 + 3.0 * 2880.0));
}

TEST_CASE("a layer without a feed-forward part has no parameters and no operators") {
  CHECK(NoFfn{}.parameters(kHidden).total() == 0.0);
  CHECK(layer_operators(NoFfn{}, kHidden, decode_of(1.0)).empty());
}
