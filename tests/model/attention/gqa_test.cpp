#include "model/attention/gqa.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"

namespace {

using namespace roofcast;

constexpr double kHidden = 4096.0;

/// One layer of Llama-3.1-8B.
GroupedQueryAttention llama() {
  return {.shape = {.n_heads = 32, .n_kv_heads = 8, .head_dim = 128}};
}

}  // namespace

TEST_CASE("grouped-query attention has Q, K, V and output matrices and no vectors by default") {
  // 4096 x (32 x 128 + 2 x 8 x 128) in, 32 x 128 x 4096 out.
  CHECK(llama().parameters(kHidden).matrices == 41943040.0);
  CHECK(llama().parameters(kHidden).vectors == 0.0);
}

TEST_CASE(
    "biases, norms, sinks and gates of grouped-query attention count where a model has them") {
  GroupedQueryAttention kind = llama();
  kind.shape.qkv_bias = true;
  kind.shape.o_bias = true;
  kind.shape.sinks = true;
  kind.shape.qk_norm = QkNorm::head;
  // 6144 rows of Q, K and V, 4096 outputs, 32 sinks, two norms of 128.
  CHECK(kind.parameters(kHidden).vectors == 6144.0 + 4096.0 + 32.0 + 256.0);
  kind.shape.qk_norm = QkNorm::full;
  // Norms over all 4096 queries and 1024 keys.
  CHECK(kind.parameters(kHidden).vectors == 6144.0 + 4096.0 + 32.0 + 5120.0);
  kind.shape.output_gate = OutputGate::elementwise;
  CHECK(kind.parameters(kHidden).matrices == 41943040.0 + 4096.0 * 4096.0);
  kind.shape.output_gate = OutputGate::headwise;
  CHECK(kind.parameters(kHidden).matrices == 41943040.0 + 4096.0 * 32.0);
}

TEST_CASE("attention reads its sinks once, whatever the batch") {
  GroupedQueryAttention kind = llama();
  const StepShape step{.sequences = 4.0, .context = 10.0};
  CHECK(operator_named(layer_operators(kind, kHidden, step), "attention").bytes.weights.value == 0);
  kind.shape.sinks = true;
  // 32 heads x 2 B.
  CHECK(operator_named(layer_operators(kind, kHidden, step), "attention").bytes.weights.value ==
        64.0);
}

TEST_CASE(
    "a layer that reads an earlier layer's cache has no K and V matrices and stores nothing") {
  GroupedQueryAttention kind = llama();
  kind.shape.kv_owner = KvOwner::earlier_layer;
  CHECK(kind.parameters(kHidden).matrices == 2.0 * 4096.0 * 4096.0);
  CHECK(kind.cache(1000.0).k == 0.0);
  CHECK(kind.cache(1000.0).v == 0.0);
  const OperatorList ops = layer_operators(kind, kHidden, {.context = 1000.0});
  CHECK(operator_named(ops, "rope_kv_append").bytes.kv_write.value == 0.0);
  CHECK(operator_named(ops, "attention").bytes.kv_read.value == 1000.0 * 8.0 * 256.0 * 2.0);
}

TEST_CASE("keys and values of one matrix are projected once and cached twice") {
  GroupedQueryAttention kind = llama();
  kind.shape.shared_kv_weights = true;
  CHECK(kind.parameters(kHidden).matrices == 41943040.0 - 4096.0 * 1024.0);
  CHECK(kind.cache(1.0).v == 1024.0);
}

TEST_CASE("grouped-query attention keeps 2 x KV heads x head_dim elements per token") {
  CHECK(llama().cache(1.0).k == 1024.0);
  CHECK(llama().cache(1.0).v == 1024.0);
  CHECK(llama().cache(131072.0).k == 1024.0 * 131072.0);
  GroupedQueryAttention kind = llama();
  kind.shape.v_head_dim = 64;
  CHECK(kind.cache(1.0).v == 512.0);
}

TEST_CASE("a decode step of grouped-query attention reads the whole cache once per sequence") {
  const OperatorList ops = layer_operators(llama(), kHidden, {.sequences = 2, .context = 100.0});
  const Operator& attention = operator_named(ops, "attention");
  // 2 sequences x 100 tokens x 2048 elements x 2 B.
  CHECK(attention.bytes.kv_read.value == 819200.0);
  // 2 x 32 heads x (128 + 128) x 101 keys x 2 sequences: the new token sees itself too.
  CHECK(attention.flops.value == 3309568.0);
  CHECK(operator_named(ops, "rope_kv_append").bytes.kv_write.value == 2.0 * 2048.0 * 2.0);
  // 6144 x 4096 x 2 B, and 2 FLOPs per weight and token.
  CHECK(operator_named(ops, "qkv_proj").bytes.weights.value == 50331648.0);
  CHECK(operator_named(ops, "qkv_proj").flops.value == 2.0 * 2.0 * 25165824.0);
  CHECK(weight_bytes_of(ops) == 2.0 * 41943040.0);
  CHECK_FALSE(has_operator(ops, "attn_all_reduce"));
}

TEST_CASE("keys and values have formats of their own") {
  Formats formats;
  formats[Component::k] = storage_of(*find_format("q8_0"));
  formats[Component::v] = storage_of(*find_format("q4_0"));
  const OperatorList ops = layer_operators(llama(), kHidden, {.context = 100.0}, formats);
  // 1024 elements at 34/32 B and 1024 at 18/32 B per token.
  CHECK(operator_named(ops, "attention").bytes.kv_read.value == 100.0 * (1088.0 + 576.0));
  CHECK(operator_named(ops, "rope_kv_append").bytes.kv_write.value == 1088.0 + 576.0);
}

TEST_CASE("a prefill computes half the square of the prompt") {
  const OperatorList ops = layer_operators(llama(), kHidden, {.query_len = 10.0, .context = 0.0});
  // 1 + 2 + ... + 10 = 55 pairs.
  CHECK(operator_named(ops, "attention").flops.value == 2.0 * 32.0 * 256.0 * 55.0);
  CHECK(operator_named(ops, "attention").bytes.kv_read.value == 0.0);
  const OperatorList later =
      layer_operators(llama(), kHidden, {.query_len = 10.0, .context = 90.0});
  CHECK(operator_named(later, "attention").flops.value == 2.0 * 32.0 * 256.0 * (900.0 + 55.0));
}

TEST_CASE("tensor parallelism splits heads; beyond the KV heads each rank holds a copy of one") {
  const OperatorList four = layer_operators(llama(), kHidden, {.context = 100.0, .tp = 4});
  CHECK(operator_named(four, "attention").shape.heads == 8.0);
  CHECK(operator_named(four, "attention").shape.kv_heads == 2.0);
  CHECK(operator_named(four, "attention").bytes.kv_read.value == 100.0 * 2.0 * 256.0 * 2.0);
  // Message: one token of 4096 elements in 2 B.
  CHECK(operator_named(four, "attn_all_reduce").bytes.collective.value == 8192.0);

  const OperatorList sixteen = layer_operators(llama(), kHidden, {.context = 100.0, .tp = 16});
  CHECK(operator_named(sixteen, "attention").shape.heads == 2.0);
  CHECK(operator_named(sixteen, "attention").shape.kv_heads == 1.0);
  CHECK(operator_named(sixteen, "attention").bytes.kv_read.value == 100.0 * 256.0 * 2.0);
  // 2 query heads, one key and one value head of 128 rows.
  CHECK(operator_named(sixteen, "qkv_proj").bytes.weights.value == 512.0 * 4096.0 * 2.0);
  CHECK(llama().cache_shards(4.0).kv == 4.0);
  CHECK(llama().cache_shards(16.0).kv == 8.0);
}
