#include "model/reference/cpu/top_tokens.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace roofcast {
namespace {

std::vector<std::int32_t> choose(const std::vector<float>& scores, std::int64_t top) {
  TopTokensScratch scratch;
  std::vector<std::int32_t> chosen(static_cast<std::size_t>(top), -1);
  choose_top_tokens(scores.data(), static_cast<std::int64_t>(scores.size()), top, scratch,
                    chosen.data());
  return chosen;
}

/// By sorting all, the first among equals first.
std::vector<std::int32_t> sorted_choice(const std::vector<float>& scores, std::int64_t top) {
  std::vector<std::int32_t> tokens(scores.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  std::stable_sort(tokens.begin(), tokens.end(), [&](std::int32_t a, std::int32_t b) {
    return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
  });
  tokens.resize(static_cast<std::size_t>(top));
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

TEST_CASE("the best tokens come in the order of the context, the first among equals") {
  CHECK(choose({1.0F, -2.0F, 3.0F, 2.0F}, 2) == std::vector<std::int32_t>{2, 3});
  CHECK(choose({5.0F, 5.0F, 5.0F}, 2) == std::vector<std::int32_t>{0, 1});
  CHECK(choose({-1.0F, -3.0F, -2.0F, -2.0F}, 2) == std::vector<std::int32_t>{0, 2});
  CHECK(choose({0.5F}, 1) == std::vector<std::int32_t>{0});
  CHECK(choose({2.0F, 1.0F, 1e-30F}, 3) == std::vector<std::int32_t>{0, 1, 2});
}

TEST_CASE("a choice among many scores is that of a sort") {
  std::mt19937 random(5);
  std::normal_distribution<float> spread(0.0F, 3.0F);
  std::uniform_int_distribution<int> few(-3, 3);
  for (const std::int64_t tokens : {2, 63, 1000, 5000}) {
    for (const std::int64_t top : {std::int64_t{1}, tokens / 2, tokens - 1, tokens}) {
      std::vector<float> scores(static_cast<std::size_t>(tokens));
      for (float& score : scores) score = spread(random);
      CHECK(choose(scores, top) == sorted_choice(scores, top));
      // Many equals, and scores in one narrow range.
      for (float& score : scores) score = static_cast<float>(few(random));
      CHECK(choose(scores, top) == sorted_choice(scores, top));
      for (float& score : scores) score = 1.0F + 1e-3F * spread(random);
      CHECK(choose(scores, top) == sorted_choice(scores, top));
    }
  }
}

}  // namespace
}  // namespace roofcast
