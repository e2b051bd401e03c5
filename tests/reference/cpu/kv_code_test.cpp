#include "model/reference/cpu/kv_code.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace roofcast {
namespace {

/// The E4M3 number of a byte by its definition.
double e4m3(int byte) {
  const int exponent = byte / 8 % 16;
  const double mantissa = byte % 8 / 8.0;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -6) : std::ldexp(1.0 + mantissa, exponent - 7);
  return byte >= 128 ? -magnitude : magnitude;
}

double exact_value(KvCode code, int byte) {
  if (code == KvCode::fp8_e4m3) return e4m3(byte);
  return byte >= 128 ? -(byte - 128) : byte;
}

/// Bytes that hold numbers: the last magnitude of E4M3 is not-a-number.
std::vector<int> numbers_of(KvCode code) {
  std::vector<int> bytes;
  for (int byte = 0; byte < 256; ++byte)
    if (code == KvCode::int8 || byte % 128 != 127) bytes.push_back(byte);
  return bytes;
}

constexpr KvCode kByteCodes[] = {KvCode::fp8_e4m3, KvCode::int8};

TEST_CASE("every byte decodes to its number, and encodes to itself") {
  for (const KvCode code : kByteCodes) {
    for (const int byte : numbers_of(code)) {
      CAPTURE(byte);
      const float value = decode_byte(code, static_cast<std::uint8_t>(byte));
      CHECK(static_cast<double>(value) == exact_value(code, byte));
      CHECK(encode_byte(code, value) == byte);
    }
  }
  CHECK(decode_byte(KvCode::fp8_e4m3, 0x7e) == 448.0F);
  CHECK(decode_byte(KvCode::fp8_e4m3, 0x01) == 0x1p-9F);
}

TEST_CASE("a value between two numbers goes to the nearer, and midway to the even one") {
  for (const KvCode code : kByteCodes) {
    const int last = code == KvCode::fp8_e4m3 ? 126 : 127;
    for (int byte = 0; byte < last; ++byte) {
      CAPTURE(byte);
      const auto low = static_cast<float>(exact_value(code, byte));
      const auto high = static_cast<float>(exact_value(code, byte + 1));
      const float middle = 0.5F * (low + high);
      const int even = byte % 2 == 0 ? byte : byte + 1;
      CHECK(encode_byte(code, middle) == even);
      CHECK(encode_byte(code, std::nextafter(middle, low)) == byte);
      CHECK(encode_byte(code, std::nextafter(middle, high)) == byte + 1);
      CHECK(encode_byte(code, -middle) == even + 128);
    }
  }
}

TEST_CASE("what is beyond the largest number becomes the largest") {
  for (const float large : {460.0F, 1e4F, 3e38F, std::numeric_limits<float>::infinity()}) {
    CHECK(encode_byte(KvCode::fp8_e4m3, large) == 0x7e);
    CHECK(encode_byte(KvCode::fp8_e4m3, -large) == 0xfe);
    CHECK(encode_byte(KvCode::int8, large) == 127);
    CHECK(encode_byte(KvCode::int8, -large) == 255);
  }
}

TEST_CASE("many values are encoded as one by one, each times the factor") {
  std::vector<Bf16> values;
  for (int i = -40; i < 45; ++i) values.push_back(float_to_bf16(static_cast<float>(i) * 0.37F));
  std::vector<std::uint8_t> bytes(values.size());
  for (const KvCode code : kByteCodes) {
    encode_bytes(code, values.data(), 8.0F, bytes.data(), static_cast<std::int64_t>(bytes.size()));
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(bytes[i] == encode_byte(code, 8.0F * bf16_to_float(values[i])));
  }
}

}  // namespace
}  // namespace roofcast
