#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "model/reference/cpu/bf16.hpp"

namespace roofcast {

/// `n` bf16 values, uniform in [-amplitude, amplitude] before rounding.
inline std::vector<Bf16> random_bf16(std::int64_t n, float amplitude, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> value(-amplitude, amplitude);
  std::vector<Bf16> out(static_cast<std::size_t>(n));
  for (Bf16& x : out) x = float_to_bf16(value(engine));
  return out;
}

/// Half a unit in the last place of a bf16 number, relative: 8 bits of precision.
inline constexpr double kBf16Epsilon = 1.0 / 256.0;

}  // namespace roofcast
