#include "model/reference/cpu/split_attention.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

TEST_CASE("pieces of all threads cover every token of every item once, in order") {
  for (const std::int64_t items : {1, 3, 8}) {
    for (const std::int64_t tokens : {1, 16, 17, 250}) {
      for (const int threads : {1, 2, 3, 7, 40}) {
        std::int64_t item = 0;
        std::int64_t token = 0;
        for (int thread = 0; thread < threads; ++thread) {
          for (const AttentionPiece& p : attention_pieces(items, tokens, thread, threads)) {
            REQUIRE(p.item == item);
            REQUIRE(p.token0 == token);
            REQUIRE(p.token1 > p.token0);
            REQUIRE(p.token0 % 16 == 0);
            REQUIRE(p.first == (p.token0 == 0));
            REQUIRE(p.last == (p.token1 == tokens));
            token = p.last ? 0 : p.token1;
            item += p.last ? 1 : 0;
          }
        }
        CHECK(item == items);
      }
    }
  }
}

TEST_CASE("items that divide evenly among threads stay whole") {
  CHECK_FALSE(splits_items(8, 1000, 2));
  CHECK_FALSE(splits_items(8, 1000, 1));
  CHECK(splits_items(1, 1000, 2));
  CHECK(splits_items(8, 1000, 3));
}

TEST_CASE("merged parts weigh by the exponential of their maxima") {
  // One head of one element. Tokens with scores 1 and 3 and values 10 and 20:
  // mean = (10 e^1 + 20 e^3) / (e^1 + e^3) = (10 e^-2 + 20) / (e^-2 + 1) = 18.808.
  AttentionPart a{.item = 0, .last = false, .max = {1.0F}, .sum = {1.0F}, .out = {10.0F}};
  const AttentionPart b{.item = 0, .last = true, .max = {3.0F}, .sum = {1.0F}, .out = {20.0F}};
  merge_part(b, 1, a);
  CHECK(static_cast<double>(a.out[0] / a.sum[0]) == relative(18.808).epsilon(1e-4));
  CHECK(a.max[0] == 3.0F);
}

}  // namespace
}  // namespace roofcast
