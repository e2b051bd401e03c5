#include "model/attention/mla_sparse.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"

namespace {

using namespace roofcast;

constexpr double kHidden = 7168.0;

/// One layer of DeepSeek-V3.2.
SparseLatentAttention deepseek() {
  return {.shape = {.n_heads = 128,
                    .q_lora_rank = 1536,
                    .kv_lora_rank = 512,
                    .qk_nope_head_dim = 128,
                    .qk_rope_head_dim = 64,
                    .v_head_dim = 128},
          .index_n_heads = 64,
          .index_head_dim = 128,
          .index_topk = 2048};
}

/// As the engines store index keys: fp8 with one fp32 scale per key, 132 bytes for 128 elements.
Formats fp8_index_keys() {
  Formats formats;
  formats[Component::indexer] = {.format = *find_format("fp8_e4m3"), .bits = 8.25};
  return formats;
}

}  // namespace

TEST_CASE("the lightning indexer adds three projections and a layer norm to latent attention") {
  const MixerParameters mla = roofcast::parameters(deepseek().shape, kHidden);
  // Queries 1536 x 64 x 128, key 7168 x 128, one weight per head 7168 x 64.
  CHECK(deepseek().parameters(kHidden).matrices - mla.matrices == 12582912.0 + 917504.0 + 458752.0);
  CHECK(deepseek().parameters(kHidden).vectors - mla.vectors == 256.0);
}

TEST_CASE("sparse latent attention stores an index key beside the latent, both on every rank") {
  CHECK(deepseek().cache(1000.0).k == 576000.0);
  CHECK(deepseek().cache(1000.0).indexer == 128000.0);
  CHECK(deepseek().cache_shards(8.0).kv == 1.0);
  CHECK(deepseek().cache_shards(8.0).indexer == 1.0);
}

TEST_CASE("a decode step reads all index keys and the top-k latents") {
  const OperatorList ops =
      layer_operators(deepseek(), kHidden, {.context = 100000.0}, fp8_index_keys());
  const Operator& score = operator_named(ops, "index_score");
  CHECK(score.bytes.kv_read.value == 100000.0 * 132.0);
  CHECK(score.bytes.kv_write.value == 132.0);
  // 2 x 64 heads x 128 x 100001 keys.
  CHECK(score.flops.value == 1638416384.0);
  CHECK(score.compute == ComputeKind::fp8);
  const Operator& attention = operator_named(ops, "mla_attention");
  CHECK(attention.bytes.kv_read.value == 2048.0 * 1152.0);
  CHECK(attention.flops.value == 2.0 * 128.0 * 1088.0 * 2048.0);
  CHECK(weight_bytes_of(ops) == 2.0 * deepseek().parameters(kHidden).total());
}

TEST_CASE("below top-k tokens sparse latent attention reads every latent") {
  const OperatorList ops = layer_operators(deepseek(), kHidden, {.context = 1000.0});
  CHECK(operator_named(ops, "mla_attention").bytes.kv_read.value == 1000.0 * 1152.0);
  CHECK(operator_named(ops, "mla_attention").flops.value == 2.0 * 128.0 * 1088.0 * 1001.0);
  CHECK(operator_named(ops, "index_score").bytes.kv_read.value == 1000.0 * 256.0);
}

TEST_CASE("a prefill beyond top-k attends to the top-k of each query in the latent space") {
  const OperatorList ops =
      layer_operators(deepseek(), kHidden, {.query_len = 4096.0, .context = 0.0});
  // The first 2048 queries see 1 ... 2048 tokens, the others 2048 each: 6,292,480 pairs.
  CHECK(operator_named(ops, "mla_attention").flops.value == 2.0 * 128.0 * 1088.0 * 6292480.0);
  // The indexer scores all pairs.
  CHECK(operator_named(ops, "index_score").flops.value ==
        2.0 * 64.0 * 128.0 * 4096.0 * 4097.0 / 2.0);
  const OperatorList brief =
      layer_operators(deepseek(), kHidden, {.query_len = 512.0, .context = 0.0});
  CHECK(has_operator(brief, "mla_expand_kv"));
}

TEST_CASE("tensor parallelism splits the heads of sparse latent attention, not its indexer") {
  const OperatorList ops = layer_operators(deepseek(), kHidden, {.context = 100000.0, .tp = 8});
  CHECK(operator_named(ops, "index_score").flops.value == 1638416384.0);
  CHECK(operator_named(ops, "index_q_proj").bytes.weights.value == 2.0 * 12582912.0);
  CHECK(operator_named(ops, "mla_attention").flops.value == 2.0 * 16.0 * 1088.0 * 2048.0);
}

TEST_CASE("a layer that takes an earlier layer's choice has no indexer and keeps no index keys") {
  SparseLatentAttention shared = deepseek();
  shared.index_owner = KvOwner::earlier_layer;
  CHECK(shared.parameters(kHidden).total() ==
        roofcast::parameters(deepseek().shape, kHidden).total());
  CHECK(shared.cache(1000.0).indexer == 0.0);
  CHECK(shared.cache(1000.0).k == 576000.0);
  const OperatorList ops = layer_operators(shared, kHidden, {.context = 100000.0});
  CHECK_FALSE(has_operator(ops, "index_score"));
  CHECK(operator_named(ops, "mla_attention").bytes.kv_read.value == 2048.0 * 1152.0);
}
