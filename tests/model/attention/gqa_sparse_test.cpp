#include "model/attention/gqa_sparse.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"

namespace {

using namespace roofcast;

constexpr double kHidden = 6144.0;

/// One sparse layer of MiniMax-M3: 16 blocks of 128 tokens, the local block among them.
SparseGroupedAttention minimax() {
  return {.shape = {.n_heads = 64, .n_kv_heads = 4, .head_dim = 128, .qk_norm = QkNorm::head},
          .index_n_heads = 4,
          .index_head_dim = 128,
          .block_size = 128,
          .topk_blocks = 16,
          .local_blocks = 1};
}

double tokens_read(double context) {
  const OperatorList ops = layer_operators(minimax(), kHidden, {.context = context});
  return operator_named(ops, "attention").shape.tokens_read;
}

double pairs(double context, double query_len) {
  const OperatorList ops =
      layer_operators(minimax(), kHidden, {.query_len = query_len, .context = context});
  return operator_named(ops, "attention").flops.value / (2.0 * 64.0 * 256.0);
}

}  // namespace

TEST_CASE("block-sparse attention adds index queries, one index key and their norms") {
  // Q 8192, K and V 512 each, output 8192; index 4 + 1 heads of 128.
  CHECK(minimax().parameters(kHidden).matrices == 6144.0 * 17408.0 + 6144.0 * 640.0);
  CHECK(minimax().parameters(kHidden).vectors == 256.0 + 256.0);
}

TEST_CASE("block-sparse attention splits keys and values by heads and keeps index keys whole") {
  CHECK(minimax().cache(10.0).k == 5120.0);
  CHECK(minimax().cache(10.0).v == 5120.0);
  CHECK(minimax().cache(10.0).indexer == 1280.0);
  CHECK(minimax().cache_shards(2.0).kv == 2.0);
  CHECK(minimax().cache_shards(8.0).kv == 4.0);
  CHECK(minimax().cache_shards(8.0).indexer == 1.0);
}

TEST_CASE("a query reads its whole context while that fits the chosen blocks") {
  CHECK(tokens_read(1000.0) == 1000.0);
  CHECK(tokens_read(2047.0) == 2047.0);
}

TEST_CASE("beyond the budget a query reads full blocks and the started one") {
  // The new token is alone in block 17: 15 full blocks of 128.
  CHECK(tokens_read(2048.0) == 1920.0);
  CHECK(tokens_read(2049.0) == 1921.0);
  // The new token closes its block: 15 full blocks and 127 tokens.
  CHECK(tokens_read(2175.0) == 2047.0);
  CHECK(tokens_read(1048576.0) == 1920.0);
  CHECK(pairs(2048.0, 1.0) == 1921.0);
}

TEST_CASE("a decode step of block-sparse attention reads all index keys") {
  const OperatorList ops = layer_operators(minimax(), kHidden, {.context = 100000.0});
  CHECK(operator_named(ops, "index_score").bytes.kv_read.value == 100000.0 * 256.0);
  CHECK(operator_named(ops, "index_score").flops.value == 2.0 * 4.0 * 128.0 * 100001.0);
  // 100,001 = 781 x 128 + 33: 15 full blocks, 33 tokens of the started one, less the new token.
  CHECK(operator_named(ops, "attention").bytes.kv_read.value ==
        (1920.0 + 32.0) * 4.0 * 256.0 * 2.0);
  CHECK(weight_bytes_of(ops) == 2.0 * minimax().parameters(kHidden).total());
}

TEST_CASE("a prefill of block-sparse attention is the sum of its queries") {
  double one_by_one = 0.0;
  for (int context = 0; context < 2500; ++context) one_by_one += pairs(context, 1.0);
  CHECK(pairs(0.0, 2500.0) == one_by_one);
  CHECK(pairs(1000.0, 1500.0) == one_by_one - 1000.0 * 1001.0 / 2.0);
}

TEST_CASE("without a local block every query reads the whole budget") {
  SparseGroupedAttention kind = minimax();
  kind.local_blocks = 0;
  const OperatorList ops = layer_operators(kind, kHidden, {.context = 100000.0});
  CHECK(operator_named(ops, "attention").shape.tokens_read == 2048.0);
  CHECK(operator_named(ops, "attention").flops.value == 2.0 * 64.0 * 256.0 * 2048.0);
}

TEST_CASE("ranks beyond the KV heads hold one index head each") {
  const OperatorList ops = layer_operators(minimax(), kHidden, {.context = 1000.0, .tp = 8});
  CHECK(operator_named(ops, "index_score").shape.heads == 1.0);
  CHECK(operator_named(ops, "index_score").bytes.kv_read.value == 1000.0 * 256.0);
  CHECK(operator_named(ops, "attention").shape.heads == 8.0);
  CHECK(operator_named(ops, "attention").shape.kv_heads == 1.0);
}
