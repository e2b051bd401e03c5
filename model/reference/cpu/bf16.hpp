#pragma once

#include <bit>
#include <cstdint>

namespace roofcast {

/// Bits of a bfloat16: the upper half of a binary32.
using Bf16 = std::uint16_t;

inline float bf16_to_float(Bf16 bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Rounds to nearest, ties to even. Not-a-number is not handled: the engine makes none.
inline Bf16 float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<Bf16>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace roofcast
