#include "model/reference/cpu/weight_format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "model/reference/cpu/half.hpp"
#include "model/reference/cpu/kv_code.hpp"

namespace roofcast {
namespace {

constexpr std::array kFormats = {
    kBf16Weights,
    WeightFormat{"fp32", WeightKind::fp32},
    WeightFormat{"fp8_e4m3", WeightKind::fp8, 0, true, 4},
    WeightFormat{"int8", WeightKind::int8, 0, true, kInputBlock},
    WeightFormat{"q8_0", WeightKind::int8, 32, false, 32},
    WeightFormat{"int4_g32", WeightKind::int4, 32, false, 32},
    WeightFormat{"int4_g128", WeightKind::int4, 128, false, 128},
    WeightFormat{"q4_0", WeightKind::int4, 32, false, 32},
};

constexpr float kLargestInt8 = 127.0F;
constexpr float kLargestInt4 = 7.0F;

template <typename T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}
template <typename T>
T get(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Of element j of a float format, in bytes. fp8 tiles are quarters of four rows, in each of which
/// two pairs per row follow each other; a ragged tile is plain.
std::int64_t float_at(WeightKind kind, std::int64_t width, std::int64_t row, std::int64_t j) {
  if (kind == WeightKind::bf16) return ((j / 2 * width + row) * 2 + j % 2) * 2;
  if (kind == WeightKind::fp32) return (j * width + row) * 4;
  if (width < kRowTile) return j * width + row;
  return j / 4 * 4 * kRowTile + row / 4 * 16 + j % 4 / 2 * 8 + row % 4 * 2 + j % 2;
}

/// One row of one record of an integer format: the elements that share a scale, or the whole row.
/// A record holds the scales of its rows, then word after word of every row: 4 codes of 8 bits, or
/// 8 of 4 bits, of which the first four are the low halves of the bytes.
struct Record {
  WeightKind kind;
  bool has_scale;
  std::int64_t width;
  std::int64_t row;
  std::int64_t elements;

  Record(const WeightFormat& format, std::int64_t k, std::int64_t tile_width, std::int64_t at)
      : kind(format.kind),
        has_scale(format.group > 0),
        width(tile_width),
        row(at),
        elements(format.group > 0 ? format.group : k) {}

  std::int64_t scale_bytes() const {
    return has_scale ? width * static_cast<std::int64_t>(sizeof(Half)) : 0;
  }
  std::int64_t bytes() const {
    return scale_bytes() + width * (kind == WeightKind::int4 ? elements / 2 : elements);
  }
  std::int64_t scale_at() const { return row * static_cast<std::int64_t>(sizeof(Half)); }
  std::int64_t code_at(std::int64_t i) const {
    const std::int64_t word = kind == WeightKind::int4 ? i / 8 : i / 4;
    return scale_bytes() + (word * width + row) * 4 + i % 4;
  }
  static int nibble_shift(std::int64_t i) { return i % 8 < 4 ? 0 : 4; }

  void store_code(std::byte* record, std::int64_t i, int code) const {
    std::byte& byte = record[code_at(i)];
    if (kind == WeightKind::int8) {
      byte = static_cast<std::byte>(code + kInt8Bias);
      return;
    }
    const int shift = nibble_shift(i);
    byte = (byte & static_cast<std::byte>(0xf0 >> shift)) |
           static_cast<std::byte>((code + kInt4Bias) << shift);
  }
  int load_code(const std::byte* record, std::int64_t i) const {
    const auto byte = std::to_integer<int>(record[code_at(i)]);
    if (kind == WeightKind::int8) return byte - kInt8Bias;
    return ((byte >> nibble_shift(i)) & 15) - kInt4Bias;
  }
};

float largest_of(const Bf16* values, std::int64_t n) {
  float largest = 0.0F;
  for (std::int64_t i = 0; i < n; ++i)
    largest = std::max(largest, std::fabs(bf16_to_float(values[i])));
  return largest;
}

/// Nearest multiple of the scale, ties to even, in [-limit, limit].
int nearest_code(float value, float scale, float limit) {
  if (scale == 0.0F) return 0;
  constexpr float kNoFraction = 0x1.8p23F;  // sums near it are whole numbers
  const float nearest = (std::clamp(value / scale, -limit, limit) + kNoFraction) - kNoFraction;
  return static_cast<int>(nearest);
}

float store_integers(const WeightFormat& format, const Bf16* values, std::int64_t k,
                     std::byte* tile, const Record& at) {
  const float limit = format.kind == WeightKind::int8 ? kLargestInt8 : kLargestInt4;
  float scale = 1.0F;
  for (std::int64_t first = 0; first < k; first += at.elements, tile += at.bytes()) {
    scale = largest_of(values + first, at.elements) / limit;
    if (at.has_scale) {
      const Half stored = float_to_half(scale);
      put(tile + at.scale_at(), stored);
      scale = half_to_float(stored);  // codes count what is read back
    }
    for (std::int64_t i = 0; i < at.elements; ++i)
      at.store_code(tile, i, nearest_code(bf16_to_float(values[first + i]), scale, limit));
  }
  return format.row_scale ? scale : 1.0F;
}

void load_integers(const std::byte* tile, const Record& at, float row_scale, std::int64_t k,
                   float* out) {
  for (std::int64_t first = 0; first < k; first += at.elements, tile += at.bytes()) {
    const float scale = at.has_scale ? half_to_float(get<Half>(tile + at.scale_at())) : row_scale;
    for (std::int64_t i = 0; i < at.elements; ++i)
      out[first + i] = static_cast<float>(at.load_code(tile, i)) * scale;
  }
}

float store_fp8(const Bf16* values, std::int64_t k, std::byte* tile, std::int64_t width,
                std::int64_t row) {
  const float scale = largest_of(values, k) / largest_code(KvCode::fp8_e4m3);
  for (std::int64_t j = 0; j < k; ++j)
    put(tile + float_at(WeightKind::fp8, width, row, j),
        scale == 0.0F ? std::uint8_t{0}
                      : encode_byte(KvCode::fp8_e4m3, bf16_to_float(values[j]) / scale));
  return scale;
}

/// Element j of a float format.
float load_float(WeightKind kind, const std::byte* at) {
  if (kind == WeightKind::bf16) return bf16_to_float(get<Bf16>(at));
  return kind == WeightKind::fp32 ? get<float>(at)
                                  : decode_byte(KvCode::fp8_e4m3, get<std::uint8_t>(at));
}

}  // namespace

std::int64_t WeightFormat::row_bytes(std::int64_t k) const {
  const std::int64_t scales =
      group > 0 ? k / group * static_cast<std::int64_t>(sizeof(Half)) : std::int64_t{0};
  switch (kind) {
    case WeightKind::bf16:
      return k * 2;
    case WeightKind::fp32:
      return k * 4;
    case WeightKind::fp8:
    case WeightKind::int8:
      return k + scales;
    case WeightKind::int4:
      break;
  }
  return k / 2 + scales;
}

std::optional<WeightFormat> find_weight_format(std::string_view name) {
  for (const WeightFormat& format : kFormats)
    if (format.name == name) return format;
  return std::nullopt;
}

std::string weight_format_names() {
  std::string names;
  for (const WeightFormat& format : kFormats)
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

float store_row(const WeightFormat& format, const Bf16* values, std::int64_t k, std::byte* tile,
                std::int64_t width, std::int64_t row) {
  switch (format.kind) {
    case WeightKind::bf16:
      for (std::int64_t j = 0; j < k; ++j)
        put(tile + float_at(WeightKind::bf16, width, row, j), values[j]);
      return 1.0F;
    case WeightKind::fp32:
      for (std::int64_t j = 0; j < k; ++j)
        put(tile + float_at(WeightKind::fp32, width, row, j), bf16_to_float(values[j]));
      return 1.0F;
    case WeightKind::fp8:
      return store_fp8(values, k, tile, width, row);
    case WeightKind::int8:
    case WeightKind::int4:
      break;
  }
  return store_integers(format, values, k, tile, Record(format, k, width, row));
}

void load_row(const WeightFormat& format, const std::byte* tile, std::int64_t width,
              std::int64_t row, float row_scale, std::int64_t k, float* out) {
  if (is_integer(format.kind))
    return load_integers(tile, Record(format, k, width, row), row_scale, k, out);
  for (std::int64_t j = 0; j < k; ++j)
    out[j] = load_float(format.kind, tile + float_at(format.kind, width, row, j)) * row_scale;
}

}  // namespace roofcast
