#include "model/attention/sliding_window.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"

namespace {

using namespace roofcast;

/// One window layer of gpt-oss: 64 query heads, 8 KV heads of 64, the last 128 tokens.
SlidingWindowAttention gpt_oss() {
  return {.shape = {.n_heads = 64, .n_kv_heads = 8, .head_dim = 64}, .window = 128};
}

double tokens_read(double context) {
  const OperatorList ops = layer_operators(gpt_oss(), 2880.0, {.context = context});
  return operator_named(ops, "attention").shape.tokens_read;
}

double pairs(double context, double query_len) {
  const OperatorList ops =
      layer_operators(gpt_oss(), 2880.0, {.query_len = query_len, .context = context});
  return operator_named(ops, "attention").flops.value / (2.0 * 64.0 * 128.0);
}

}  // namespace

TEST_CASE("a window layer reads at most its window") {
  CHECK(tokens_read(0.0) == 0.0);
  CHECK(tokens_read(127.0) == 127.0);
  CHECK(tokens_read(128.0) == 128.0);
  CHECK(tokens_read(129.0) == 128.0);
  CHECK(tokens_read(131072.0) == 128.0);
}

TEST_CASE("a query in a window layer sees at most the window, itself included") {
  CHECK(pairs(0.0, 1.0) == 1.0);
  CHECK(pairs(126.0, 1.0) == 127.0);
  CHECK(pairs(127.0, 1.0) == 128.0);
  CHECK(pairs(128.0, 1.0) == 128.0);
  // 200 tokens: the first 128 see 1 ... 128, the other 72 see 128 each.
  CHECK(pairs(0.0, 200.0) == 8256.0 + 72.0 * 128.0);
  CHECK(pairs(100.0, 100.0) == 8256.0 + 72.0 * 128.0 - 100.0 * 101.0 / 2.0);
}

TEST_CASE("a window layer keeps at most its window") {
  CHECK(gpt_oss().cache(100.0).k == 100.0 * 512.0);
  CHECK(gpt_oss().cache(128.0).k == 128.0 * 512.0);
  CHECK(gpt_oss().cache(131072.0).v == 128.0 * 512.0);
  CHECK(gpt_oss().cache_shards(32.0).kv == 8.0);
}

TEST_CASE("a window layer has the parameters of grouped-query attention") {
  CHECK(gpt_oss().parameters(2880.0).matrices == 2880.0 * (4096.0 + 1024.0 + 4096.0));
}
