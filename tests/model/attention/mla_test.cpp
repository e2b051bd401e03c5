#include "model/attention/mla.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"

namespace {

using namespace roofcast;

constexpr double kHidden = 7168.0;

/// One layer of DeepSeek-V3.
MultiHeadLatentAttention deepseek() {
  return {.shape = {.n_heads = 128,
                    .q_lora_rank = 1536,
                    .kv_lora_rank = 512,
                    .qk_nope_head_dim = 128,
                    .qk_rope_head_dim = 64,
                    .v_head_dim = 128}};
}

}  // namespace

TEST_CASE("latent attention has the five matrices and two latent norms of the published model") {
  // q_a 7168 x 1536, q_b 1536 x 128 x 192, kv_a 7168 x 576, kv_b 512 x 128 x 256, o 16384 x 7168.
  CHECK(deepseek().parameters(kHidden).matrices ==
        11010048.0 + 37748736.0 + 4128768.0 + 16777216.0 + 117440512.0);
  CHECK(deepseek().parameters(kHidden).vectors == 1536.0 + 512.0);
  MultiHeadLatentAttention direct = deepseek();
  direct.shape.q_lora_rank = 0;
  CHECK(direct.parameters(kHidden).matrices ==
        7168.0 * 24576.0 + 4128768.0 + 16777216.0 + 117440512.0);
  CHECK(direct.parameters(kHidden).vectors == 512.0);
  MultiHeadLatentAttention gated = deepseek();
  gated.shape.output_gate = OutputGate::elementwise;
  CHECK(gated.parameters(kHidden).matrices ==
        deepseek().parameters(kHidden).matrices + 7168.0 * 16384.0);
}

TEST_CASE("one latent of rank + rope elements per token, without a factor 2, whole on every rank") {
  CHECK(deepseek().cache(1.0).k == 576.0);
  CHECK(deepseek().cache(1.0).v == 0.0);
  CHECK(deepseek().cache_shards(8.0).kv == 1.0);
  for (const int tp : {1, 8}) {
    const OperatorList ops = layer_operators(deepseek(), kHidden, {.context = 1000.0, .tp = tp});
    CHECK(operator_named(ops, "mla_attention").bytes.kv_read.value == 1000.0 * 576.0 * 2.0);
    CHECK(operator_named(ops, "rope_kv_append").bytes.kv_write.value == 576.0 * 2.0);
  }
}

TEST_CASE("a decode step attends in the latent space") {
  const OperatorList ops = layer_operators(deepseek(), kHidden, {.context = 1000.0});
  // 2 x 128 heads x (2 x 512 + 64) x 1001 tokens.
  CHECK(operator_named(ops, "mla_attention").flops.value == 278806528.0);
  // Both absorbed halves of kv_b: 128 heads x 512 x 128 in 2 B.
  CHECK(operator_named(ops, "mla_absorb_q").bytes.weights.value == 16777216.0);
  CHECK(operator_named(ops, "mla_absorb_v").bytes.weights.value == 16777216.0);
  CHECK_FALSE(has_operator(ops, "mla_expand_kv"));
  // Every matrix is read once, with the latent norms.
  CHECK(weight_bytes_of(ops) == 2.0 * deepseek().parameters(kHidden).total());
}

TEST_CASE("a prefill expands the latents to keys and values of all heads") {
  const OperatorList ops =
      layer_operators(deepseek(), kHidden, {.query_len = 100.0, .context = 0.0});
  CHECK_FALSE(has_operator(ops, "mla_attention"));
  // 2 x 100 tokens x 128 x 256 rows x 512.
  CHECK(operator_named(ops, "mla_expand_kv").flops.value == 3355443200.0);
  // 2 x 128 heads x (192 + 128) x 5050 pairs.
  CHECK(operator_named(ops, "attention").flops.value == 413696000.0);
  CHECK(weight_bytes_of(ops) == 2.0 * deepseek().parameters(kHidden).total());
  // A later chunk expands the cached latents again.
  const OperatorList later =
      layer_operators(deepseek(), kHidden, {.query_len = 100.0, .context = 50.0});
  CHECK(operator_named(later, "mla_expand_kv").flops.value == 1.5 * 3355443200.0);
  CHECK(operator_named(later, "attention").bytes.kv_read.value == 50.0 * 576.0 * 2.0);
}

TEST_CASE("tensor parallelism splits the heads of latent attention, not its down-projections") {
  const OperatorList ops = layer_operators(deepseek(), kHidden, {.context = 1000.0, .tp = 8});
  CHECK(operator_named(ops, "mla_attention").shape.heads == 16.0);
  CHECK(operator_named(ops, "mla_attention").flops.value == 278806528.0 / 8.0);
  CHECK(operator_named(ops, "mla_down_proj").bytes.weights.value ==
        2.0 * (7168.0 * 2112.0 + 2048.0));
  CHECK(operator_named(ops, "mla_q_up_proj").bytes.weights.value == 2.0 * 37748736.0 / 8.0);
  CHECK(operator_named(ops, "attn_out_proj").bytes.weights.value == 2.0 * 117440512.0 / 8.0);
}
