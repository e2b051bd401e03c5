#include "model/reference/cpu/packed_matrix.hpp"

#include <algorithm>
#include <string>

#include "model/base/error.hpp"

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

PackedMatrix::PackedMatrix(std::int64_t rows, std::int64_t k, const WeightFormat& format,
                           Arenas& arenas, std::int64_t first_thread)
    : format_(format), rows_(rows), k_(k) {
  if (k < 1 || k % format.width_step != 0)
    throw UnsupportedError("the reference engine has no kernel for " + std::string(format.name) +
                           " in rows of " + std::to_string(k) + ", which is not a multiple of " +
                           std::to_string(format.width_step));
  const std::int64_t tiles = (rows + kRowTile - 1) / kRowTile;
  const int parts = static_cast<int>(arenas.size());
  for (int i = 0; i < parts; ++i) {
    const auto at = static_cast<int>((i + parts - first_thread % parts) % parts);
    const Range part = part_of(tiles, at, parts);
    Slab slab{.rows = {part.begin * kRowTile, std::min(part.end * kRowTile, rows)}};
    if (slab.rows.size() > 0) {
      Arena& arena = arenas[static_cast<std::size_t>(i)];
      slab.data = arena.take_bytes(slab.rows.size() * row_bytes());
      if (format.row_scale)
        slab.row_scales = reinterpret_cast<float*>(
            arena.take_bytes(slab.rows.size() * static_cast<std::int64_t>(sizeof(float))));
    }
    slabs_.push_back(slab);
  }
}

WeightSlab PackedMatrix::weights(int thread) const {
  const Slab& slab = slabs_[static_cast<std::size_t>(thread)];
  return {format_, slab.data, slab.row_scales, slab.rows.size(), k_};
}

void PackedMatrix::fill(int thread, const RowSource& source) {
  const Slab& slab = slabs_[static_cast<std::size_t>(thread)];
  std::vector<Bf16> values(static_cast<std::size_t>(k_));
  for (std::int64_t row = slab.rows.begin; row < slab.rows.end; ++row) {
    source(row, values.data());
    const std::int64_t first = row - row % kRowTile;
    const std::int64_t width = std::min(kRowTile, rows_ - first);
    const float scale =
        store_row(format_, values.data(), k_, slab.data + (first - slab.rows.begin) * row_bytes(),
                  width, row - first);
    if (format_.row_scale) slab.row_scales[row - slab.rows.begin] = scale;
  }
}

void PackedMatrix::gather_row(std::int64_t row, Bf16* out) const {
  const auto slab = std::find_if(slabs_.begin(), slabs_.end(), [row](const Slab& s) {
    return s.rows.begin <= row && row < s.rows.end;
  });
  const std::int64_t first = row - row % kRowTile;
  const std::int64_t width = std::min(kRowTile, rows_ - first);
  std::vector<float> values(static_cast<std::size_t>(k_));
  load_row(format_, slab->data + (first - slab->rows.begin) * row_bytes(), width, row - first,
           format_.row_scale ? slab->row_scales[row - slab->rows.begin] : 1.0F, k_, values.data());
  for (std::int64_t j = 0; j < k_; ++j) out[j] = float_to_bf16(values[static_cast<std::size_t>(j)]);
}

void PackedMatrix::multiply(const Kernels& kernels, int thread, const Bf16* x, std::int64_t batch,
                            const Bf16* bias, Bf16* y) const {
  const std::int64_t first = slab(thread).begin;
  roofcast::multiply(kernels, weights(thread), x, k_, batch,
                     bias == nullptr ? nullptr : bias + first, y + first, rows_);
}

}  // namespace roofcast
