#pragma once

#include <cstddef>
#include <cstdint>

#include "model/reference/cpu/weight_format.hpp"

namespace roofcast {

/// Some rows of a matrix as row tiles of one format, the last of which may have fewer than 16 rows.
struct WeightSlab {
  WeightFormat format = kBf16Weights;
  const std::byte* data = nullptr;    // none without rows
  const float* row_scales = nullptr;  // (rows), where the format has them
  std::int64_t rows = 0;
  std::int64_t k = 0;

  std::int64_t bytes() const { return rows * format.row_bytes(k); }
};

/// Rows [begin, end) of a slab; begin is a multiple of kRowTile, and so is end but for the last
/// row.
WeightSlab rows_of(const WeightSlab& slab, std::int64_t begin, std::int64_t end);

/// y (batch, rows) = x (batch, k) W^T + bias with the rows of `weights`. Integer weights multiply
/// inputs as 8-bit codes, which each calling thread makes for itself. Strides are in elements;
/// `bias` may be null.
void multiply(const Kernels& kernels, const WeightSlab& weights, const Bf16* x,
              std::int64_t x_stride, std::int64_t batch, const Bf16* bias, Bf16* y,
              std::int64_t y_stride);

}  // namespace roofcast
