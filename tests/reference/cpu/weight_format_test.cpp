#include "model/reference/cpu/weight_format.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "model/base/error.hpp"
#include "model/base/number_format.hpp"
#include "model/reference/cpu/half.hpp"
#include "model/reference/cpu/kv_code.hpp"
#include "model/reference/cpu/packed_matrix.hpp"
#include "tests/reference/cpu/random_values.hpp"

namespace roofcast {
namespace {

constexpr const char* kNames[] = {"bf16", "fp32", "fp8_e4m3", "int8",
                                  "q8_0", "q4_0", "int4_g32", "int4_g128"};

/// A magnitude of `exponent` and `mantissa` bits by its definition in IEEE 754.
double magnitude_of(unsigned bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>(bits >> mantissa_bits);
  const unsigned mantissa = bits & ((1U << mantissa_bits) - 1U);
  const double one = std::ldexp(1.0, mantissa_bits);
  return exponent == 0 ? std::ldexp(mantissa / one, 1 - bias)
                       : std::ldexp(1.0 + mantissa / one, exponent - bias);
}

TEST_CASE("every finite binary16 is read by its definition, and the nearest one is written") {
  for (unsigned bits = 0; bits < 0x7c00U; ++bits) {
    const double value = magnitude_of(bits, 5, 10);
    const auto half = static_cast<Half>(bits);
    REQUIRE(static_cast<double>(half_to_float(half)) == value);
    REQUIRE(float_to_half(half_to_float(half)) == half);
    REQUIRE(static_cast<double>(half_to_float(static_cast<Half>(bits | 0x8000U))) == -value);
    if (bits == 0) continue;
    // Half way to the one below goes to the even of both, a little more or less to the nearer.
    const auto below = static_cast<Half>(bits - 1);
    const auto middle =
        static_cast<float>((value + static_cast<double>(half_to_float(below))) / 2.0);
    REQUIRE(float_to_half(middle) == (bits % 2 == 0 ? half : below));
    REQUIRE(float_to_half(std::nextafter(middle, 1e6F)) == half);
    REQUIRE(float_to_half(std::nextafter(-middle, 0.0F)) == (below | 0x8000U));
  }
  CHECK(float_to_half(1e6F) == 0x7bffU);
  CHECK(float_to_half(-65520.0F) == 0xfbffU);
}

/// A row stored in the middle of a tile of `width` rows and read back.
struct StoredRow {
  float scale;
  std::vector<float> values;
};

StoredRow store_and_load(const WeightFormat& format, const std::vector<Bf16>& row,
                         std::int64_t width) {
  const auto k = static_cast<std::int64_t>(row.size());
  std::vector<std::byte> tile(static_cast<std::size_t>(width * format.row_bytes(k)));
  StoredRow stored;
  const std::vector<Bf16> other = random_bf16(k, 5.0F, 99);
  for (std::int64_t r = 0; r < width; ++r) {
    const float scale =
        store_row(format, r == width / 2 ? row.data() : other.data(), k, tile.data(), width, r);
    if (r == width / 2) stored.scale = scale;
  }
  stored.values.resize(row.size());
  load_row(format, tile.data(), width, width / 2, stored.scale, k, stored.values.data());
  return stored;
}

double value_of(const std::vector<Bf16>& row, std::size_t i) {
  return static_cast<double>(bf16_to_float(row[i]));
}

/// Half a step between codes around `value`, of a group whose largest magnitude is `largest`.
/// Scales in binary16 may be off by 2^-11, by which the largest codes are off from the values.
double half_step(const WeightFormat& format, double value, double largest) {
  switch (format.kind) {
    case WeightKind::int8:
      return largest / 127.0 * 0.5 * (1.0 + std::ldexp(1.0, -10)) +
             (format.group > 0 ? largest * std::ldexp(1.0, -11) : largest * 1e-6);
    case WeightKind::int4:
      return largest / 7.0 * 0.5 * (1.0 + std::ldexp(1.0, -10));
    case WeightKind::fp8:  // 4 bits of precision above 2^-6, steps of 2^-9 below
      return std::max(std::fabs(value) / 16.0, largest / 448.0 * std::ldexp(1.0, -10)) * 1.000001;
    default:
      return 0.0;
  }
}

TEST_CASE("a stored row is within half a step of its values in full and ragged tiles") {
  for (const char* name : kNames) {
    const WeightFormat format = find_weight_format(name).value();
    CAPTURE(name);
    for (const std::int64_t width : {1, 5, 16}) {
      const std::vector<Bf16> row = random_bf16(384, 0.2F, 7);
      const StoredRow stored = store_and_load(format, row, width);
      const std::size_t group = format.group > 0 ? static_cast<std::size_t>(format.group) : 384;
      for (std::size_t first = 0; first < 384; first += group) {
        double largest = 0.0;
        for (std::size_t i = first; i < first + group; ++i)
          largest = std::max(largest, std::fabs(value_of(row, i)));
        for (std::size_t i = first; i < first + group; ++i) {
          const double error = std::fabs(static_cast<double>(stored.values[i]) - value_of(row, i));
          CHECK(error <= half_step(format, value_of(row, i), largest));
        }
      }
    }
  }
}

TEST_CASE("values that codes can hold are stored exactly, and rows of zeros as zeros") {
  for (const char* name : kNames) {
    const WeightFormat format = find_weight_format(name).value();
    CAPTURE(name);
    // In steps of 1/64 every group's largest is 7 or 127, and the row's 448 in fp8: scales are
    // 1/64.
    const int most = format.kind == WeightKind::int4 ? 7 : 127;
    std::vector<Bf16> row;
    for (int i = 0; i < 256; ++i) {
      const int code = i % 32 == 3 ? most : (i * 37) % (2 * most + 1) - most;
      const float steps =
          format.kind == WeightKind::fp8
              ? decode_byte(KvCode::fp8_e4m3, static_cast<std::uint8_t>(i % 127 + (i % 2) * 128))
              : static_cast<float>(i % 64 == 3 ? -code : code);
      row.push_back(float_to_bf16(steps / 64.0F));
    }
    const StoredRow stored = store_and_load(format, row, 16);
    for (std::size_t i = 0; i < row.size(); ++i)
      CHECK(static_cast<double>(stored.values[i]) == value_of(row, i));
    const std::vector<Bf16> zeros(256);
    for (const float value : store_and_load(format, zeros, 16).values) CHECK(value == 0.0F);
  }
}

TEST_CASE("a group of one extreme value keeps it, and leaves the other groups alone") {
  for (const char* name : {"q8_0", "q4_0", "int4_g32", "int4_g128"}) {
    CAPTURE(name);
    const WeightFormat format = find_weight_format(name).value();
    std::vector<Bf16> row(256, float_to_bf16(0.0625F));
    row[130] = float_to_bf16(-1024.0F);
    const StoredRow stored = store_and_load(format, row, 16);
    CHECK(std::fabs(static_cast<double>(stored.values[130]) + 1024.0) <= 1024.0 / 2048.0);
    CHECK(stored.values[131] == 0.0F);
    CHECK(std::fabs(static_cast<double>(stored.values[127]) - 0.0625) <= 0.0625 / 2048.0);
  }
}

TEST_CASE("rows have the bytes that the table of number formats gives their elements") {
  for (const char* name : kNames) {
    CAPTURE(name);
    const WeightFormat format = find_weight_format(name).value();
    CHECK(static_cast<double>(format.row_bytes(1280)) ==
          1280.0 * find_format(name)->bytes_per_element());
  }
  CHECK_FALSE(find_weight_format("q4_K").has_value());
  CHECK(weight_format_names().find("int4_g128") != std::string::npos);
}

TEST_CASE("rows that are not whole blocks are refused by format and width") {
  Arenas arenas(1);
  CHECK_THROWS_WITH_AS(PackedMatrix(16, 48, find_weight_format("q8_0").value(), arenas),
                       doctest::Contains("q8_0 in rows of 48"), UnsupportedError);
  CHECK_THROWS_AS(PackedMatrix(16, 64, find_weight_format("int4_g128").value(), arenas),
                  UnsupportedError);
  CHECK_THROWS_AS(PackedMatrix(16, 3, kBf16Weights, arenas), UnsupportedError);
}

}  // namespace
}  // namespace roofcast
