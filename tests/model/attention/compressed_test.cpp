#include "model/attention/compressed.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"
#include "tests/relative.hpp"

namespace {

using namespace roofcast;
using roofcast::test::relative;

constexpr double kHidden = 7168.0;
constexpr double kMillion = 1048576.0;

/// Layers of DeepSeek-V4-Pro.
CompressedAttention window_layer() {
  return {.n_heads = 128,
          .head_dim = 512,
          .q_lora_rank = 1536,
          .o_groups = 16,
          .o_lora_rank = 1024,
          .window = 128};
}
CompressedAttention heavily_compressed() {
  CompressedAttention kind = window_layer();
  kind.compress_ratio = 128;
  return kind;
}
CompressedAttention compressed_sparse() {
  CompressedAttention kind = window_layer();
  kind.compress_ratio = 4;
  kind.index_n_heads = 64;
  kind.index_head_dim = 128;
  kind.index_topk = 1024;
  return kind;
}

// Queries 7168 x 1536 and 1536 x 65536, key-value 7168 x 512, output 65536 x 1024 (16 groups of
// 4096 x 1024) and 16384 x 7168.
constexpr double kBase = 11010048.0 + 100663296.0 + 3670016.0 + 67108864.0 + 117440512.0;
constexpr double kBaseVectors = 1536.0 + 512.0 + 128.0;  // two norms, a sink per head

}  // namespace

TEST_CASE("a window layer of compressed attention has low-rank queries and grouped outputs") {
  CHECK(window_layer().parameters(kHidden).matrices == kBase);
  CHECK(window_layer().parameters(kHidden).vectors == kBaseVectors);
}

TEST_CASE("a heavily compressed layer adds one pooling") {
  // Value and gate 7168 x 512 each; a bias of 512 for each of 128 places, a norm.
  CHECK(heavily_compressed().parameters(kHidden).matrices == kBase + 2.0 * 3670016.0);
  CHECK(heavily_compressed().parameters(kHidden).vectors == kBaseVectors + 65536.0 + 512.0);
}

TEST_CASE("a compressed sparse layer adds two overlapping poolings and the indexer") {
  // Overlap doubles the pooled width: 7168 x 1024 twice; of index keys 7168 x 256 twice; index
  // queries 1536 x 64 x 128; a weight per index head 7168 x 64.
  CHECK(compressed_sparse().parameters(kHidden).matrices ==
        kBase + 14680064.0 + 3670016.0 + 12582912.0 + 458752.0);
  CHECK(compressed_sparse().parameters(kHidden).vectors ==
        kBaseVectors + 4.0 * 1024.0 + 512.0 + 4.0 * 256.0 + 128.0);
}

TEST_CASE("compressed attention keeps a window and one entry per ratio of tokens") {
  CHECK(window_layer().cache(100.0).k == 100.0 * 512.0);
  CHECK(window_layer().cache(kMillion).k == 128.0 * 512.0);
  CHECK(heavily_compressed().cache(kMillion).k == (128.0 + 8192.0) * 512.0);
  CHECK(compressed_sparse().cache(kMillion).k == (128.0 + 262144.0) * 512.0);
  CHECK(compressed_sparse().cache(kMillion).indexer == 262144.0 * 128.0);
  CHECK(compressed_sparse().cache(kMillion).v == 0.0);
  CHECK(compressed_sparse().cache_shards(8.0).kv == 1.0);
}

TEST_CASE("the open windows of a pooling are fixed state") {
  CHECK(window_layer().cache(kMillion).state == 0.0);
  // Value and gate of 128 tokens of 512.
  CHECK(heavily_compressed().cache(kMillion).state == 131072.0);
  // Two windows of 4 tokens and two series: 2 x 8 x 1024, and 2 x 8 x 256 for index keys.
  CHECK(compressed_sparse().cache(kMillion).state == 16384.0 + 4096.0);
}

TEST_CASE("each kind of layer reads its own part of a million tokens") {
  const auto vectors_read = [](const CompressedAttention& kind) {
    const OperatorList ops = layer_operators(kind, kHidden, {.context = kMillion});
    return operator_named(ops, "compressed_attention").bytes.kv_read.value / 1024.0;
  };
  CHECK(vectors_read(window_layer()) == 128.0);
  CHECK(vectors_read(heavily_compressed()) == 128.0 + 8192.0);
  CHECK(vectors_read(compressed_sparse()) == 128.0 + 1024.0);
  const OperatorList ops = layer_operators(compressed_sparse(), kHidden, {.context = kMillion});
  CHECK(operator_named(ops, "index_score").bytes.kv_read.value == 262144.0 * 256.0);
  CHECK_FALSE(has_operator(layer_operators(heavily_compressed(), kHidden, {.context = kMillion}),
                           "index_score"));
}

TEST_CASE("a short context reads every entry of a compressed sparse layer") {
  const OperatorList ops = layer_operators(compressed_sparse(), kHidden, {.context = 400.0});
  CHECK(operator_named(ops, "compressed_attention").bytes.kv_read.value ==
        (128.0 + 100.0) * 1024.0);
}

TEST_CASE("one vector is key and value: 4 x heads x head_dim FLOPs per pair") {
  const OperatorList ops = layer_operators(window_layer(), kHidden, {.context = 1000.0});
  CHECK(operator_named(ops, "compressed_attention").flops.value == 4.0 * 128.0 * 512.0 * 128.0);
  // 1,048,577 tokens are 8,192 and 1/128 entries.
  const OperatorList heavy = layer_operators(heavily_compressed(), kHidden, {.context = kMillion});
  CHECK(operator_named(heavy, "compressed_attention").flops.value ==
        relative(4.0 * 128.0 * 512.0 * (128.0 + 8192.0)).epsilon(1e-6));
}

TEST_CASE("compressed attention reads every parameter once in a step") {
  for (const CompressedAttention& kind :
       {window_layer(), heavily_compressed(), compressed_sparse()}) {
    const OperatorList ops = layer_operators(kind, kHidden, {.context = 1000.0});
    CHECK(weight_bytes_of(ops) == 2.0 * kind.parameters(kHidden).total());
  }
}

TEST_CASE("what a step writes is a window vector and the share of an entry") {
  const OperatorList ops = layer_operators(compressed_sparse(), kHidden, {.context = 1000.0});
  CHECK(operator_named(ops, "rope_kv_append").bytes.kv_write.value == 1024.0);
  CHECK(operator_named(ops, "kv_pool").bytes.kv_write.value == 1024.0 / 4.0);
  CHECK(operator_named(ops, "index_pool").bytes.kv_write.value == 256.0 / 4.0);
  // fp32 value and gate of 1024 elements: one row written, two read as windows overlap.
  CHECK(operator_named(ops, "kv_pool").bytes.state.value == 2.0 * 1024.0 * 3.0 * 4.0);
}

TEST_CASE("tensor parallelism splits heads and output groups of compressed attention") {
  const OperatorList ops =
      layer_operators(compressed_sparse(), kHidden, {.context = kMillion, .tp = 8});
  CHECK(operator_named(ops, "compressed_attention").shape.heads == 16.0);
  CHECK(operator_named(ops, "compressed_attention").bytes.kv_read.value == 1152.0 * 1024.0);
  CHECK(operator_named(ops, "attn_out_down_proj").bytes.weights.value == 2.0 * 67108864.0 / 8.0);
  CHECK(operator_named(ops, "attn_out_proj").bytes.weights.value == 2.0 * 117440512.0 / 8.0);
  CHECK(operator_named(ops, "index_q_proj").bytes.weights.value == 2.0 * 12582912.0);
}

TEST_CASE("a prefill of a window layer sees at most the window") {
  const OperatorList ops =
      layer_operators(window_layer(), kHidden, {.query_len = 200.0, .context = 0.0});
  CHECK(operator_named(ops, "compressed_attention").flops.value ==
        4.0 * 128.0 * 512.0 * (8256.0 + 72.0 * 128.0));
}
