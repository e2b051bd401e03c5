#pragma once

#include "model/reference/cpu/gemm_codecs.hpp"
#include "model/reference/cpu/kernels.hpp"

// Bodies of the kernels, as templates over the vector type S of one instruction set (see
// kernels_portable.cpp for its interface). Only kernels_*.cpp include these headers, each with an S
// of its own in an anonymous namespace, so that code compiled for one instruction set cannot
// replace another's at link time. For the same reason nothing here calls a plain inline function.
namespace roofcast::detail {

/// Elements of k whose weights and inputs stay in the second-level cache while all columns pass.
inline constexpr std::int64_t kGemmDepth = 2048;

/// Columns of an input as rows of their own, `stride` elements apart.
struct ColumnRows {
  const Bf16* data;
  std::int64_t stride;

  template <int C>
  const Bf16* at(std::int64_t column, std::int64_t j) const {
    return data + column * stride + j;
  }
  /// Elements from one pair of a column to its next.
  template <int C>
  static constexpr int kNextPair = 2;
};

/// Columns of an input with pairs of k side by side, (k / 2, C, 2): broadcasts of many columns come
/// from one cache line, where rows as far apart as a page would all want the same few.
struct PackedColumns {
  const Bf16* data;

  template <int C>
  const Bf16* at(std::int64_t column, std::int64_t j) const {
    return data + j * C + 2 * column;
  }
  template <int C>
  static constexpr int kNextPair = 2 * C;
};

template <typename S>
void pack_columns(const Bf16* x, std::int64_t x_stride, std::int64_t k, std::int64_t columns,
                  Bf16* out) {
  for (std::int64_t j = 0; j < k; j += 2) {
    for (std::int64_t c = 0; c < columns; ++c)
      __builtin_memcpy(out + (j * columns + 2 * c), x + c * x_stride + j, 2 * sizeof(Bf16));
  }
}

/// Adds steps [s0, s1) of k of R row tiles x C columns to `sums` (C, 16 R). U steps are walked at a
/// time with sums of their own, so that few columns still make enough independent chains.
template <typename S, typename W, int R, int C, int U, typename X>
void gemm_block(const std::byte* weights, std::int64_t tile_bytes, const X& x, std::int64_t s0,
                std::int64_t s1, float* sums) {
  constexpr int kVectors = R * static_cast<int>(kRowTile) / S::kLanes;
  constexpr int kPerTile = static_cast<int>(kRowTile) / S::kLanes;
  typename S::Floats acc[U][C][kVectors];
#pragma GCC unroll 8
  for (int u = 0; u < U; ++u) {
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) acc[u][c][v] = S::zero();
    }
  }
  const auto add_step = [&](std::int64_t s, auto& into) {
    typename W::Step w[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      w[v] = W::load(weights + (v / kPerTile) * tile_bytes + s * kRowTile * W::kBytes +
                     (v % kPerTile) * W::kVectorBytes);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      const typename W::Input both =
          W::template input<X::template kNextPair<C>>(x.template at<C>(c, s * W::kDepth));
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) into[c][v] = W::dot(into[c][v], w[v], both);
    }
  };
  std::int64_t s = s0;
  for (; s + U <= s1; s += U) {
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u) add_step(s + u, acc[u]);
  }
  for (; s < s1; ++s) add_step(s, acc[0]);
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      float* const at = sums + (c * kVectors + v) * S::kLanes;
      typename S::Floats total = S::load(at);
#pragma GCC unroll 8
      for (int u = 0; u < U; ++u) total = S::add(total, acc[u][c][v]);
      S::store(at, total);
    }
  }
}

/// Calls gemm_block with the given number of columns, 1 .. C.
template <typename S, typename W, int R, int C, typename X>
void gemm_columns(std::int64_t columns, const std::byte* weights, std::int64_t tile_bytes,
                  const X& x, std::int64_t s0, std::int64_t s1, float* sums) {
  if constexpr (C > 1) {
    if (columns < C)
      return gemm_columns<S, W, R, C - 1>(columns, weights, tile_bytes, x, s0, s1, sums);
  }
  gemm_block<S, W, R, C, C == 1 ? W::kUnroll : (C == 2 ? W::kUnroll / 2 : 1)>(weights, tile_bytes,
                                                                              x, s0, s1, sums);
}

/// y of `rows` rows from `first` on: sums (batch, rows) by the rows' scales, and their bias.
template <typename S>
void store_sums(const GemmArgs& a, const float* sums, std::int64_t first, std::int64_t rows) {
  for (std::int64_t c = 0; c < a.batch; ++c) {
    for (std::int64_t row = 0; row < rows; row += S::kLanes) {
      typename S::Floats y = S::load(sums + c * rows + row);
      const std::int64_t at = first + row;
      if (a.row_scales != nullptr) y = S::mul(y, S::load(a.row_scales + at));
      if (a.bias != nullptr) y = S::add(y, S::load_bf16(a.bias + at));
      S::store_bf16(a.y + c * a.y_stride + at, y);
    }
  }
}

/// R row tiles for the whole batch, whose columns are packed by as many as one call takes: k is
/// walked in pieces, so that the weights of a piece, read from memory by the first columns, are
/// still cached for the others.
template <typename S, typename W, int R>
void gemm_panel(const GemmArgs& a, std::int64_t tile) {
  constexpr std::int64_t kRows = R * kRowTile;
  const std::int64_t steps = a.k / W::kDepth;
  const std::int64_t tile_bytes = steps * kRowTile * W::kBytes;
  const std::byte* weights = static_cast<const std::byte*>(a.weights) + tile * tile_bytes;
  alignas(64) float sums[kMaxBatch * kRows];
  for (std::int64_t i = 0; i < a.batch * kRows; ++i) sums[i] = 0.0F;
  constexpr int kColumns = S::kGemmColumns[R];
  const std::int64_t piece = a.batch <= kColumns ? steps : kGemmDepth / W::kDepth;
  for (std::int64_t s0 = 0; s0 < steps; s0 += piece) {
    const std::int64_t s1 = s0 + piece < steps ? s0 + piece : steps;
    for (std::int64_t c = 0; c < a.batch; c += kColumns)
      gemm_columns<S, W, R, kColumns>(a.batch - c, weights, tile_bytes,
                                      PackedColumns{a.x + c * a.k}, s0, s1, sums + c * kRows);
  }
  store_sums<S>(a, sums, tile * kRowTile, kRows);
}

/// Panels of `row_tiles` tiles, at most R, then what is left in smaller ones.
template <typename S, typename W, int R>
void gemm_panels(const GemmArgs& a, int row_tiles, std::int64_t tile, std::int64_t tiles) {
  if (row_tiles >= R)
    for (; tile + R <= tiles; tile += R) gemm_panel<S, W, R>(a, tile);
  if constexpr (R > 1) gemm_panels<S, W, R - 1>(a, row_tiles, tile, tiles);
}

template <typename S, typename W>
void gemm(const GemmArgs& a) {
  const int row_tiles = W::row_tiles(a.batch);
  GemmArgs packed = a;
  if (a.batch > 1) {
    // What is left in smaller panels takes as many columns a call, or all of them at once.
    const std::int64_t columns = S::kGemmColumns[row_tiles];
    for (std::int64_t c = 0; c < a.batch; c += columns)
      pack_columns<S>(a.x + c * a.x_stride, a.x_stride, a.k,
                      columns < a.batch - c ? columns : a.batch - c, a.scratch + c * a.k);
    packed.x = a.scratch;
  }
  gemm_panels<S, W, W::kMaxRowTiles>(packed, row_tiles, 0, a.rows / kRowTile);
}

}  // namespace roofcast::detail
