#include "model/reference/cpu/kv_code.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {
namespace {

/// Nearest whole number, ties to even, of 0 .. 2^22: what is left in the mantissa of a sum with
/// 1.5 x 2^23. Loops over it become vectors, which a call of the library does not.
std::uint32_t nearest_integer(float value) {
  return std::bit_cast<std::uint32_t>(value + 0x1.8p23F) & 0x3fffffU;
}

/// Magnitude of the E4M3 number nearest to `value`, which is 0 .. 448. Rounding up out of a binade,
/// or out of the subnormals, carries into the exponent, as it should.
std::uint32_t nearest_fp8_e4m3(float value) {
  constexpr float kLeastNormal = 0x1p-6F;
  constexpr int kDropped = 20;  // of 23 bits of mantissa
  constexpr std::uint32_t kBias = (127 - 7) << 3;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t half = (1U << (kDropped - 1)) - 1U + ((bits >> kDropped) & 1U);
  const std::uint32_t normal = ((bits + half) >> kDropped) - kBias;
  const std::uint32_t subnormal = nearest_integer(std::min(value, kLeastNormal) * 512.0F);
  return value < kLeastNormal ? subnormal : normal;
}

template <KvCode C>
std::uint8_t encode(float value) {
  const float magnitude = std::min(std::fabs(value), largest_code(C));
  const std::uint32_t rounded =
      C == KvCode::fp8_e4m3 ? nearest_fp8_e4m3(magnitude) : nearest_integer(magnitude);
  const std::uint32_t sign = std::bit_cast<std::uint32_t>(value) >> 24 & 0x80U;
  return static_cast<std::uint8_t>(rounded | sign);
}

template <KvCode C>
void encode_all(const Bf16* values, float factor, std::uint8_t* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = encode<C>(bf16_to_float(values[i]) * factor);
}

}  // namespace

std::uint8_t encode_byte(KvCode code, float value) {
  return code == KvCode::fp8_e4m3 ? encode<KvCode::fp8_e4m3>(value) : encode<KvCode::int8>(value);
}

void encode_bytes(KvCode code, const Bf16* values, float factor, std::uint8_t* out,
                  std::int64_t n) {
  if (code == KvCode::fp8_e4m3) return encode_all<KvCode::fp8_e4m3>(values, factor, out, n);
  encode_all<KvCode::int8>(values, factor, out, n);
}

}  // namespace roofcast
