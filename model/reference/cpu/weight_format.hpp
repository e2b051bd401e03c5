#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/reference/cpu/kernels.hpp"

namespace roofcast {

/// How a matrix is stored. Integers are symmetric: value = scale x code, codes in [-127, 127] or
/// [-7, 7].
struct WeightFormat {
  std::string_view name;  // in the table of number formats
  WeightKind kind = WeightKind::bf16;
  /// Elements of a row that share a scale, which is stored with them as binary16; 0: none is.
  std::int64_t group = 0;
  /// One fp32 scale per row, kept beside the matrix and, as in the table, not counted in its bytes.
  bool row_scale = false;
  /// Widths must be a multiple of this.
  std::int64_t width_step = 2;

  /// Bytes of one row of `k` elements, as the table of number formats has them.
  std::int64_t row_bytes(std::int64_t k) const;
};

inline constexpr WeightFormat kBf16Weights = {"bf16", WeightKind::bf16};

/// The format called `name` in the table of number formats; empty when the engine cannot store it.
std::optional<WeightFormat> find_weight_format(std::string_view name);

/// Names of all formats that the engine can store, for messages.
std::string weight_format_names();

/// Writes `values`, (k), as row `row` of the tile at `tile`, which has `width` rows, and returns
/// the row's scale (1 without one). Rounds to nearest.
float store_row(const WeightFormat& format, const Bf16* values, std::int64_t k, std::byte* tile,
                std::int64_t width, std::int64_t row);

/// The values of that row, (k).
void load_row(const WeightFormat& format, const std::byte* tile, std::int64_t width,
              std::int64_t row, float row_scale, std::int64_t k, float* out);

}  // namespace roofcast
