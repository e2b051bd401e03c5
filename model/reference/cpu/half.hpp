#pragma once

#include <bit>
#include <cstdint>

namespace roofcast {

/// Bits of an IEEE binary16, in which block formats store their scales.
using Half = std::uint16_t;

inline float half_to_float(Half bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t magnitude = bits & 0x7fffU;
  if (magnitude >= 0x7c00U)  // infinity or not a number
    return std::bit_cast<float>(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13);
  // As the exponent field of a binary32 it is 112 too low; subnormals come out right as well.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | sign);
}

/// Rounds to nearest, ties to even; beyond the largest finite value it is that. Not-a-number is
/// not handled: the engine makes none.
inline Half float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<Half>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  constexpr std::uint32_t kOverflow = 0x477ff000U;  // 65520, which rounds to 2^16
  if (magnitude >= kOverflow) return static_cast<Half>(sign | 0x7bffU);
  constexpr std::uint32_t kLeastNormal = 0x38800000U;  // 2^-14
  if (magnitude < kLeastNormal) {
    // Adding 1/2 leaves multiples of 2^-24, the subnormals' step, in the low bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<Half>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<Half>(sign | ((rounded - 0x38000000U) >> 13));
}

}  // namespace roofcast
