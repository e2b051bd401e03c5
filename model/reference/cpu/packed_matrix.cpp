#include "model/reference/cpu/packed_matrix.hpp"

#include <algorithm>
#include <stdexcept>

namespace roofcast {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{64} << 20;
constexpr std::size_t kCacheLine = 64;

}  // namespace

Bf16* Arena::take(std::int64_t elements) {
  return reinterpret_cast<Bf16*>(take_bytes(elements * static_cast<std::int64_t>(sizeof(Bf16))));
}

std::byte* Arena::take_bytes(std::int64_t wanted) {
  const std::size_t bytes =
      (static_cast<std::size_t>(wanted) + kCacheLine - 1) / kCacheLine * kCacheLine;
  if (chunks_.empty() || chunks_.back().size() - used_ < bytes) {
    chunks_.emplace_back(std::max(bytes, kChunkBytes));
    used_ = 0;
  }
  std::byte* const at = chunks_.back().data() + used_;
  used_ += bytes;
  return at;
}

PackedMatrix::PackedMatrix(std::int64_t rows, std::int64_t k, Arenas& arenas,
                           std::int64_t first_thread)
    : rows_(rows), k_(k) {
  if (k < 2 || k % 2 != 0) throw std::invalid_argument("a packed matrix needs an even width");
  const std::int64_t tiles = (rows + kRowTile - 1) / kRowTile;
  const int parts = static_cast<int>(arenas.size());
  for (int i = 0; i < parts; ++i) {
    const auto at = static_cast<int>((i + parts - first_thread % parts) % parts);
    const Range part = part_of(tiles, at, parts);
    const Range own = {part.begin * kRowTile, std::min(part.end * kRowTile, rows)};
    Bf16* const data =
        own.size() > 0 ? arenas[static_cast<std::size_t>(i)].take(own.size() * k) : nullptr;
    slabs_.push_back({own, data});
  }
}

void PackedMatrix::fill(int thread, const RowSource& source) {
  const Slab& slab = slabs_[static_cast<std::size_t>(thread)];
  std::vector<Bf16> row(static_cast<std::size_t>(k_));
  for (std::int64_t i = slab.rows.begin; i < slab.rows.end; ++i) {
    source(i, row.data());
    const std::int64_t first = i - i % kRowTile;
    const std::int64_t width = std::min(kRowTile, rows_ - first);
    Bf16* const tile = slab.data + (first - slab.rows.begin) * k_ + (i - first) * 2;
    for (std::int64_t j = 0; j < k_; j += 2) {
      tile[j * width] = row[static_cast<std::size_t>(j)];
      tile[j * width + 1] = row[static_cast<std::size_t>(j + 1)];
    }
  }
}

void PackedMatrix::gather_row(std::int64_t row, Bf16* out) const {
  const auto slab = std::find_if(slabs_.begin(), slabs_.end(), [row](const Slab& s) {
    return s.rows.begin <= row && row < s.rows.end;
  });
  const std::int64_t first = row - row % kRowTile;
  const std::int64_t width = std::min(kRowTile, rows_ - first);
  const Bf16* const tile = slab->data + (first - slab->rows.begin) * k_ + (row - first) * 2;
  for (std::int64_t j = 0; j < k_; j += 2) {
    out[j] = tile[j * width];
    out[j + 1] = tile[j * width + 1];
  }
}

void PackedMatrix::multiply(const Kernels& kernels, int thread, const Bf16* x, std::int64_t batch,
                            const Bf16* bias, Bf16* y) const {
  const Slab& slab = slabs_[static_cast<std::size_t>(thread)];
  if (slab.rows.size() == 0) return;
  kernels.gemm({.weights = slab.data,
                .rows = slab.rows.size(),
                .k = k_,
                .x = x,
                .x_stride = k_,
                .batch = batch,
                .bias = bias == nullptr ? nullptr : bias + slab.rows.begin,
                .y = y + slab.rows.begin,
                .y_stride = rows_});
}

}  // namespace roofcast
