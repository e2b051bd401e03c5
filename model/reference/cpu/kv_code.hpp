#pragma once

#include <bit>
#include <cstdint>

#include "model/reference/cpu/bf16.hpp"

namespace roofcast {

/// How a cache stores an element: as a bf16 value or as one byte. Bytes of both kinds hold a sign
/// and a magnitude of seven bits: an E4M3 number, or a whole one. Every value is a bf16 number too,
/// and a cache's elements are its scale times the values.
enum class KvCode { bf16, fp8_e4m3, int8 };

/// Bytes of an element.
constexpr std::int64_t code_bytes(KvCode code) { return code == KvCode::bf16 ? 2 : 1; }

/// Largest value of a code that has one byte.
constexpr float largest_code(KvCode code) { return code == KvCode::fp8_e4m3 ? 448.0F : 127.0F; }

/// The byte whose value is nearest, ties to even; beyond the largest value, the largest. `code` is
/// one of the byte codes. Not-a-number is not handled: the engine makes none.
std::uint8_t encode_byte(KvCode code, float value);

/// The bytes of n bf16 values, each times `factor`.
void encode_bytes(KvCode code, const Bf16* values, float factor, std::uint8_t* out, std::int64_t n);

/// The bf16 values of the 128 magnitudes of a byte code.
struct Magnitudes {
  Bf16 bits[128] = {};
};

/// E4M3 (OCP 8-bit floating point, 2023): four bits of exponent with bias 7, three of mantissa, and
/// subnormals of 2^-9. The last magnitude is not-a-number there, and is never encoded.
consteval Magnitudes fp8_e4m3_magnitudes() {
  Magnitudes all;
  for (std::uint32_t i = 0; i < 128; ++i) {
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(static_cast<float>(i) / 512.0F);
    const std::uint32_t exponent = i / 8 + 120;
    all.bits[i] = static_cast<Bf16>(i < 8 ? subnormal >> 16 : exponent << 7 | i % 8 << 4);
  }
  return all;
}

consteval Magnitudes int8_magnitudes() {
  Magnitudes all;
  for (std::uint32_t i = 0; i < 128; ++i)
    all.bits[i] = static_cast<Bf16>(std::bit_cast<std::uint32_t>(static_cast<float>(i)) >> 16);
  return all;
}

inline constexpr Magnitudes kFp8E4m3Magnitudes = fp8_e4m3_magnitudes();
inline constexpr Magnitudes kInt8Magnitudes = int8_magnitudes();

/// Value of a byte, which is a bf16 number.
inline float decode_byte(KvCode code, std::uint8_t byte) {
  const Magnitudes& all = code == KvCode::fp8_e4m3 ? kFp8E4m3Magnitudes : kInt8Magnitudes;
  const float magnitude = bf16_to_float(all.bits[byte & 0x7fU]);
  return (byte & 0x80U) != 0 ? -magnitude : magnitude;
}

}  // namespace roofcast
