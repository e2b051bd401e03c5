#pragma once

#include "model/reference/cpu/kernels.hpp"

// Bodies of the kernels, as templates over the vector type S of one instruction set (see
// simd_portable.hpp for its interface). Only kernels_*.cpp include these headers, each with an S of
// its own in an anonymous namespace, so that code compiled for one instruction set cannot replace
// another's at link time. For the same reason nothing here calls a plain inline function.
namespace roofcast::detail {

/// Elements of k whose weights and inputs stay in the second-level cache while all columns pass.
inline constexpr std::int64_t kGemmDepth = 2048;

/// Adds pairs [p0, p1) of k of R row tiles x C columns to `sums` (C, 16 R). U pairs are walked at a
/// time with sums of their own, so that few columns still make enough independent chains.
template <typename S, int R, int C, int U>
void gemm_block(const Bf16* weights, std::int64_t tile_size, const Bf16* x, std::int64_t x_stride,
                std::int64_t p0, std::int64_t p1, float* sums) {
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
  const auto add_pair = [&](std::int64_t p, auto& into) {
    typename S::Pairs w[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      w[v] = S::load_pairs(weights + (v / kPerTile) * tile_size + p * 2 * kRowTile +
                           (v % kPerTile) * 2 * S::kLanes);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      const typename S::Pairs both = S::set_pair(x + c * x_stride + 2 * p);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) into[c][v] = S::dot(into[c][v], w[v], both);
    }
  };
  std::int64_t p = p0;
  for (; p + U <= p1; p += U) {
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u) add_pair(p + u, acc[u]);
  }
  for (; p < p1; ++p) add_pair(p, acc[0]);
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
template <typename S, int R, int C>
void gemm_columns(std::int64_t columns, const Bf16* weights, std::int64_t tile_size, const Bf16* x,
                  std::int64_t x_stride, std::int64_t p0, std::int64_t p1, float* sums) {
  if constexpr (C > 1) {
    if (columns < C)
      return gemm_columns<S, R, C - 1>(columns, weights, tile_size, x, x_stride, p0, p1, sums);
  }
  gemm_block<S, R, C, C == 1 ? 2 : 1>(weights, tile_size, x, x_stride, p0, p1, sums);
}

/// R row tiles for the whole batch: k is walked in pieces, so that the weights of a piece, read
/// from memory by the first columns, are still cached for the others.
template <typename S, int R>
void gemm_panel(const GemmArgs& a, std::int64_t tile) {
  constexpr std::int64_t kRows = R * kRowTile;
  const std::int64_t tile_size = kRowTile * a.k;
  const Bf16* weights = a.weights + tile * tile_size;
  alignas(64) float sums[kMaxBatch * kRows];
  for (std::int64_t i = 0; i < a.batch * kRows; ++i) sums[i] = 0.0F;
  const std::int64_t pairs = a.k / 2;
  constexpr int kColumns = S::kGemmColumns[R];
  const std::int64_t piece = a.batch <= kColumns ? pairs : kGemmDepth / 2;
  for (std::int64_t p0 = 0; p0 < pairs; p0 += piece) {
    const std::int64_t p1 = p0 + piece < pairs ? p0 + piece : pairs;
    for (std::int64_t c = 0; c < a.batch; c += kColumns)
      gemm_columns<S, R, kColumns>(a.batch - c, weights, tile_size, a.x + c * a.x_stride,
                                   a.x_stride, p0, p1, sums + c * kRows);
  }
  for (std::int64_t c = 0; c < a.batch; ++c) {
    for (std::int64_t row = 0; row < kRows; row += S::kLanes) {
      typename S::Floats y = S::load(sums + c * kRows + row);
      const std::int64_t at = tile * kRowTile + row;
      if (a.bias != nullptr) y = S::add(y, S::load_bf16(a.bias + at));
      S::store_bf16(a.y + c * a.y_stride + at, y);
    }
  }
}

/// The last tile, of fewer than 16 rows.
template <typename S>
void gemm_ragged_tile(const GemmArgs& a, std::int64_t tile) {
  const std::int64_t first = tile * kRowTile;
  const std::int64_t width = a.rows - first;
  const Bf16* weights = a.weights + first * a.k;
  for (std::int64_t c = 0; c < a.batch; ++c) {
    const Bf16* x = a.x + c * a.x_stride;
    for (std::int64_t r = 0; r < width; ++r) {
      float sum = 0.0F;
      for (std::int64_t j = 0; j < a.k; ++j) {
        const Bf16 w = weights[((j / 2) * width + r) * 2 + j % 2];
        sum += S::to_float(w) * S::to_float(x[j]);
      }
      if (a.bias != nullptr) sum += S::to_float(a.bias[first + r]);
      a.y[c * a.y_stride + first + r] = S::to_bf16(sum);
    }
  }
}

/// Panels of `row_tiles` tiles, at most R, then what is left in smaller ones.
template <typename S, int R>
std::int64_t gemm_panels(const GemmArgs& a, int row_tiles, std::int64_t tile, std::int64_t tiles) {
  if (row_tiles >= R)
    for (; tile + R <= tiles; tile += R) gemm_panel<S, R>(a, tile);
  if constexpr (R > 1) return gemm_panels<S, R - 1>(a, row_tiles, tile, tiles);
  return tile;
}

template <typename S>
void gemm(const GemmArgs& a) {
  const std::int64_t tile =
      gemm_panels<S, S::kMaxRowTiles>(a, S::row_tiles(a.batch), 0, a.rows / kRowTile);
  if (a.rows % kRowTile != 0) gemm_ragged_tile<S>(a, tile);
}

}  // namespace roofcast::detail
