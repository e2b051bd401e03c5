#pragma once

#include "model/reference/cpu/gemm_body.hpp"

// GEMM of integer weights with codes of the inputs. See gemm_body.hpp for how these templates are
// used.
namespace roofcast::detail {

/// Bytes of the scales that a record of one row tile starts with.
inline constexpr std::int64_t kScaleBytes = kRowTile * 2;

/// Integer weights of one row tile: records of `elements` of k, with or without scales before their
/// codes.
struct IntTile {
  const std::byte* data;
  std::int64_t elements;
  std::int64_t record_bytes;
  bool has_scales;
};

/// The codes of some columns of a batch: pointers to the first column's.
struct CodeColumns {
  InputCodes first;
  std::int64_t batch;
};

/// Adds one input block's products of C columns to `acc`. Sums of products are whole numbers; each
/// starts at what the bias of the weights will add, so that it ends without it.
template <typename S, typename W, int C>
[[gnu::always_inline]] inline void int_block(const std::byte* at, const CodeColumns& x,
                                             std::int64_t block, const typename S::Floats* scale,
                                             typename S::Floats (*acc)[kRowTile / S::kLanes]) {
  constexpr int kVectors = static_cast<int>(kRowTile) / S::kLanes;
  constexpr int kLoads = static_cast<int>(kInputBlock) / (4 * W::kWords);
  typename S::Ints sum[C][kVectors];
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) {
    const typename S::Ints start =
        S::template multiple<W::kBias>(x.first.negated_sums + block * x.batch + c);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[c][v] = start;
  }
#pragma GCC unroll 8
  for (int load = 0; load < kLoads; ++load) {
    typename S::Bytes w[kVectors][W::kWords];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      W::load(at + (load * static_cast<int>(kRowTile) + v * S::kLanes) * 4, w[v]);
#pragma GCC unroll 8
    for (int word = 0; word < W::kWords; ++word) {
      const std::int8_t* const codes =
          x.first.codes + block * x.batch * kInputBlock + (load * W::kWords + word) * 4;
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v)
          sum[c][v] = W::dot(sum[c][v], w[v][word], codes + c * kInputBlock);
      }
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) {
    const typename S::Floats input_scale = S::set(x.first.scales[block * x.batch + c]);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      acc[c][v] = S::fma(S::to_floats(sum[c][v]), S::mul(scale[v], input_scale), acc[c][v]);
  }
}

/// Adds records [r0, r1) of one row tile x C columns to `sums` (C, 16).
template <typename S, typename W, int C>
void int_records(const IntTile& tile, const CodeColumns& x, std::int64_t r0, std::int64_t r1,
                 float* sums) {
  constexpr int kVectors = static_cast<int>(kRowTile) / S::kLanes;
  constexpr std::int64_t kBlockBytes = kRowTile * kInputBlock / W::kWords;
  typename S::Floats acc[C][kVectors];
  typename S::Floats scale[kVectors];
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) acc[c][v] = S::load(sums + (c * kVectors + v) * S::kLanes);
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) scale[v] = S::set(1.0F);
  const std::int64_t record_blocks = tile.elements / kInputBlock;
  for (std::int64_t r = r0; r < r1; ++r) {
    const std::byte* at = tile.data + r * tile.record_bytes;
    if (tile.has_scales) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) scale[v] = S::load_half(at + v * S::kLanes * 2);
      at += kScaleBytes;
    }
    for (std::int64_t b = 0; b < record_blocks; ++b, at += kBlockBytes)
      int_block<S, W, C>(at, x, r * record_blocks + b, scale, acc);
  }
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) S::store(sums + (c * kVectors + v) * S::kLanes, acc[c][v]);
  }
}

/// Calls int_records with the given number of columns, 1 .. C.
template <typename S, typename W, int C>
void int_columns(std::int64_t columns, const IntTile& tile, const CodeColumns& x, std::int64_t r0,
                 std::int64_t r1, float* sums) {
  if constexpr (C > 1) {
    if (columns < C) return int_columns<S, W, C - 1>(columns, tile, x, r0, r1, sums);
  }
  int_records<S, W, C>(tile, x, r0, r1, sums);
}

/// One row tile for the whole batch, k in pieces as in gemm_panel. Without scales a record is one
/// input block.
template <typename S, typename W>
void int_panel(const GemmArgs& a, std::int64_t tile) {
  alignas(64) float sums[kMaxBatch * kRowTile];
  for (std::int64_t i = 0; i < a.batch * kRowTile; ++i) sums[i] = 0.0F;
  IntTile weights{nullptr, a.group > 0 ? a.group : kInputBlock, 0, a.group > 0};
  weights.record_bytes =
      kRowTile * weights.elements / W::kWords + (weights.has_scales ? kScaleBytes : 0);
  const std::int64_t records = a.k / weights.elements;
  weights.data = static_cast<const std::byte*>(a.weights) + tile * records * weights.record_bytes;
  constexpr int kColumns = S::kIntColumns;
  const std::int64_t piece = a.batch <= kColumns ? records : kGemmDepth / weights.elements;
  for (std::int64_t r0 = 0; r0 < records; r0 += piece) {
    const std::int64_t r1 = r0 + piece < records ? r0 + piece : records;
    for (std::int64_t c = 0; c < a.batch; c += kColumns) {
      const CodeColumns x{
          {a.codes.codes + c * kInputBlock, a.codes.scales + c, a.codes.negated_sums + c}, a.batch};
      int_columns<S, W, kColumns>(a.batch - c, weights, x, r0, r1, sums + c * kRowTile);
    }
  }
  store_sums<S>(a, sums, tile * kRowTile, kRowTile);
}

template <typename S, typename W>
void int_gemm(const GemmArgs& a) {
  for (std::int64_t tile = 0; tile < a.rows / kRowTile; ++tile) int_panel<S, W>(a, tile);
}

/// Block `block` of column `column` of the inputs.
template <typename S>
void encode_block(const GemmArgs& a, std::int64_t column, std::int64_t block) {
  constexpr int kVectors = static_cast<int>(kInputBlock) / S::kLanes;
  const Bf16* const x = a.x + column * a.x_stride + block * kInputBlock;
  const std::int64_t at = block * a.batch + column;
  typename S::Floats values[kVectors];
  typename S::Floats largest = S::zero();
  for (int v = 0; v < kVectors; ++v) {
    values[v] = S::load_bf16(x + v * S::kLanes);
    largest = S::max(largest, S::max(values[v], S::sub(S::zero(), values[v])));
  }
  const float scale = S::horizontal_max(largest) / 127.0F;
  // Of a scale whose inverse is not finite, inputs are as good as zero.
  const typename S::Floats inverse = S::set(scale > 0x1p-120F ? 1.0F / scale : 0.0F);
  typename S::Floats sum = S::zero();
  for (int v = 0; v < kVectors; ++v) {
    const typename S::Ints codes = S::nearest(S::mul(values[v], inverse));
    S::store_codes(a.codes.codes + at * kInputBlock + v * S::kLanes, codes);
    sum = S::sub(sum, S::to_floats(codes));
  }
  a.codes.scales[at] = scale;
  a.codes.negated_sums[at] = static_cast<std::int32_t>(S::horizontal_sum(sum));
}

/// See Kernels::encode.
template <typename S>
void encode(const GemmArgs& a) {
  for (std::int64_t column = 0; column < a.batch; ++column) {
    for (std::int64_t block = 0; block < a.k / kInputBlock; ++block)
      encode_block<S>(a, column, block);
  }
}

}  // namespace roofcast::detail
