#include "model/attention/chunked.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"

namespace {

using namespace roofcast;

ChunkedAttention chunks_of_8() {
  return {.shape = {.n_heads = 4, .n_kv_heads = 2, .head_dim = 16}, .chunk = 8};
}

const Operator attention(double context, double query_len = 1.0) {
  const OperatorList ops =
      layer_operators(chunks_of_8(), 64.0, {.query_len = query_len, .context = context});
  return operator_named(ops, "attention");
}

double pairs(double context, double query_len = 1.0) {
  return attention(context, query_len).flops.value / (2.0 * 4.0 * 32.0);
}

}  // namespace

TEST_CASE("a chunked layer reads the tokens of the current chunk only") {
  CHECK(attention(0.0).shape.tokens_read == 0.0);
  CHECK(attention(7.0).shape.tokens_read == 7.0);
  CHECK(attention(8.0).shape.tokens_read == 0.0);  // the new token opens a chunk
  CHECK(attention(9.0).shape.tokens_read == 1.0);
  CHECK(attention(15.0).shape.tokens_read == 7.0);
}

TEST_CASE("a query in a chunked layer sees its chunk up to itself") {
  CHECK(pairs(0.0) == 1.0);
  CHECK(pairs(7.0) == 8.0);
  CHECK(pairs(8.0) == 1.0);
  // Two chunks of 1 + ... + 8 = 36 and four tokens of 1 + ... + 4 = 10.
  CHECK(pairs(0.0, 20.0) == 82.0);
  CHECK(pairs(6.0, 4.0) == 7.0 + 8.0 + 1.0 + 2.0);
}

TEST_CASE("a chunked layer keeps at most a chunk") {
  CHECK(chunks_of_8().cache(5.0).k == 5.0 * 32.0);
  CHECK(chunks_of_8().cache(20.0).k == 8.0 * 32.0);
  CHECK(chunks_of_8().cache_shards(8.0).kv == 2.0);
}
