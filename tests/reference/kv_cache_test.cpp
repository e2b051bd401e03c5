#include "model/reference/kv_cache.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/reference/cpu/random_values.hpp"

namespace roofcast {
namespace {

constexpr KvShape kShape{
    .sequences = 3, .kv_heads = 2, .head_dim = 32, .value_dim = 32, .capacity = 90};

const KvLayout kLayouts[] = {
    {},
    {{KvCode::fp8_e4m3, 0.5F}, {KvCode::fp8_e4m3, 1.0F}, 0},
    {{KvCode::int8, 0.04F}, {KvCode::bf16, 1.0F}, 16},
    {{KvCode::bf16, 1.0F}, {KvCode::int8, 0.0625F}, 64},
};

/// How far the nearest number that a plane can hold is from `exact`.
double least_distance(const KvPlane& plane, double exact) {
  if (plane.code == KvCode::bf16) return 0.0;
  const auto scale = static_cast<double>(plane.scale);
  double least = std::fabs(exact);
  for (int byte = 0; byte < 256; ++byte) {
    const float number = decode_byte(plane.code, static_cast<std::uint8_t>(byte));
    least = std::min(least, std::fabs(scale * static_cast<double>(number) - exact));
  }
  return least;
}

/// How much farther than that a stored number is.
double excess(const KvPlane& plane, float stored, Bf16 appended) {
  const auto exact = static_cast<double>(bf16_to_float(appended));
  return std::fabs(static_cast<double>(stored) - exact) - least_distance(plane, exact);
}

TEST_CASE("a cache gives back the nearest numbers to what was appended, of every item and token") {
  for (const KvLayout& layout : kLayouts) {
    Arenas arenas(2);
    KvCache cache(layout, kShape, arenas);
    REQUIRE(cache.items() == 6);
    const std::int64_t row = kShape.head_dim;
    const auto keys = random_bf16(6 * 90 * row, 4.0F, 5);
    const auto values = random_bf16(6 * 90 * row, 4.0F, 6);
    for (std::int64_t at = 0; at < 6 * 90; ++at)
      cache.append(at / 90, at % 90, keys.data() + at * row, values.data() + at * row);
    double worst = 0.0;
    for (std::int64_t at = 0; at < 6 * 90; ++at) {
      for (std::int64_t d = 0; d < row; d += 5) {
        const auto i = static_cast<std::size_t>(at * row + d);
        const float key = cache.key_at(at / 90, at % 90, d);
        const float value = cache.value_at(at / 90, at % 90, d);
        worst = std::max(worst, excess(layout.keys, key, keys[i]));
        worst = std::max(worst, excess(layout.values, value, values[i]));
      }
    }
    // What a scale that is no power of two leaves of rounding in fp32.
    CHECK(worst <= 1e-6);
  }
}

TEST_CASE("a token takes the bytes of its formats, whatever the scales") {
  Arenas arenas(1);
  // 32 elements of K and of V.
  CHECK(KvCache(kLayouts[0], kShape, arenas).token_bytes() == 128);
  CHECK(KvCache(kLayouts[1], kShape, arenas).token_bytes() == 64);
  CHECK(KvCache(kLayouts[2], kShape, arenas).token_bytes() == 96);
}

TEST_CASE("pages of a sequence are all pages, in an order that is not that of its tokens") {
  Arenas arenas(2);
  const KvCache paged({{}, {}, 16},
                      {.sequences = 3, .kv_heads = 2, .head_dim = 16, .capacity = 900}, arenas);
  std::vector<std::vector<std::int32_t>> tables;
  for (std::int64_t s = 0; s < 3; ++s) {
    // 900 tokens are 56.25 pages of 16.
    std::vector<std::int32_t> table(paged.pages(s), paged.pages(s) + 57);
    CHECK_FALSE(std::is_sorted(table.begin(), table.end()));
    tables.push_back(table);
    std::sort(table.begin(), table.end());
    for (std::int32_t i = 0; i < 57; ++i) CHECK(table[static_cast<std::size_t>(i)] == i);
  }
  CHECK(tables[0] != tables[1]);
  CHECK(tables[1] != tables[2]);
  CHECK(KvCache({}, kShape, arenas).pages(0) == nullptr);
}

TEST_CASE("random caches hold numbers of both signs from 0.5 to 1, alike with and without pages") {
  for (KvLayout layout :
       {KvLayout{}, KvLayout{{KvCode::fp8_e4m3, 1.0F}, {KvCode::int8, 0.0625F}}}) {
    Arenas arenas(2);
    KvCache plain(layout, kShape, arenas);
    layout.page_tokens = 16;
    KvCache paged(layout, kShape, arenas);
    for (int thread = 0; thread < 2; ++thread) {
      plain.fill(thread, 2, 9);
      paged.fill(thread, 2, 9);
    }
    int negative = 0;
    for (std::int64_t at = 0; at < 6 * 90; ++at) {
      const float key = plain.key_at(at / 90, at % 90, at % 32);
      const float value = plain.value_at(at / 90, at % 90, at % 32);
      CHECK(std::fabs(key) >= 0.5F);
      CHECK(std::fabs(key) < 1.0F);
      CHECK(std::fabs(value) >= 0.5F);
      CHECK(std::fabs(value) < 1.0F);
      negative += (key < 0.0F ? 1 : 0) + (value < 0.0F ? 1 : 0);
      CHECK(paged.key_at(at / 90, at % 90, at % 32) == key);
      CHECK(paged.value_at(at / 90, at % 90, at % 32) == value);
    }
    // Half of 1,080, five standard deviations of 16 apart.
    CHECK(std::abs(negative - 540) < 82);
  }
}

}  // namespace
}  // namespace roofcast
