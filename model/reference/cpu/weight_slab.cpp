#include "model/reference/cpu/weight_slab.hpp"

#include <vector>

namespace roofcast {
namespace {

/// Memory for the inputs of one product in the form that its kernel reads. Kept by each thread:
/// products follow each other.
struct InputBuffers {
  std::vector<std::int8_t> codes;
  std::vector<float> scales;
  std::vector<std::int32_t> sums;
  std::vector<Bf16> scratch;

  InputCodes for_codes(std::int64_t batch, std::int64_t k) {
    return {grown(codes, batch * k), grown(scales, batch * (k / kInputBlock)),
            grown(sums, batch * (k / kInputBlock))};
  }
  template <typename T>
  static T* grown(std::vector<T>& values, std::int64_t n) {
    if (static_cast<std::int64_t>(values.size()) < n) values.resize(static_cast<std::size_t>(n));
    return values.data();
  }
};

void prepare_inputs(const Kernels& kernels, WeightKind kind, GemmArgs& args) {
  thread_local InputBuffers buffers;
  if (is_integer(kind)) {
    args.codes = buffers.for_codes(args.batch, args.k);
    kernels.encode(args);
  } else if (args.batch > 1) {
    args.scratch = InputBuffers::grown(buffers.scratch, args.batch * args.k);
  }
}

/// Input c as the kernels of this format see it.
void widen_input(const GemmArgs& a, bool as_codes, std::int64_t c, std::vector<float>& out) {
  for (std::int64_t j = 0; j < a.k; ++j) {
    const std::int64_t block = j / kInputBlock * a.batch + c;
    out[static_cast<std::size_t>(j)] =
        as_codes ? static_cast<float>(a.codes.codes[block * kInputBlock + j % kInputBlock]) *
                       a.codes.scales[block]
                 : bf16_to_float(a.x[c * a.x_stride + j]);
  }
}

/// The last tile, of fewer than 16 rows: at most 15 rows of a matrix, so plain loops do.
void multiply_ragged_tile(const WeightSlab& weights, const GemmArgs& a) {
  const std::int64_t first = a.rows;
  const std::int64_t width = weights.rows - first;
  const std::byte* const tile = weights.data + first * weights.format.row_bytes(a.k);
  std::vector<float> rows(static_cast<std::size_t>(width * a.k));
  for (std::int64_t r = 0; r < width; ++r)
    load_row(weights.format, tile, width, r,
             a.row_scales == nullptr ? 1.0F : a.row_scales[first + r], a.k, rows.data() + r * a.k);
  std::vector<float> x(static_cast<std::size_t>(a.k));
  for (std::int64_t c = 0; c < a.batch; ++c) {
    widen_input(a, is_integer(weights.format.kind), c, x);
    for (std::int64_t r = 0; r < width; ++r) {
      float sum = 0.0F;
      for (std::int64_t j = 0; j < a.k; ++j)
        sum += rows[static_cast<std::size_t>(r * a.k + j)] * x[static_cast<std::size_t>(j)];
      if (a.bias != nullptr) sum += bf16_to_float(a.bias[first + r]);
      a.y[c * a.y_stride + first + r] = float_to_bf16(sum);
    }
  }
}

}  // namespace

WeightSlab rows_of(const WeightSlab& slab, std::int64_t begin, std::int64_t end) {
  WeightSlab rows = slab;
  rows.data += begin * slab.format.row_bytes(slab.k);
  if (rows.row_scales != nullptr) rows.row_scales += begin;
  rows.rows = end - begin;
  return rows;
}

void multiply(const Kernels& kernels, const WeightSlab& weights, const Bf16* x,
              std::int64_t x_stride, std::int64_t batch, const Bf16* bias, Bf16* y,
              std::int64_t y_stride) {
  if (weights.rows == 0) return;
  const WeightKind kind = weights.format.kind;
  GemmArgs args{.weights = weights.data,
                .group = weights.format.group,
                .row_scales = weights.row_scales,
                .rows = weights.rows / kRowTile * kRowTile,
                .k = weights.k,
                .x = x,
                .x_stride = x_stride,
                .batch = batch,
                .bias = bias,
                .y = y,
                .y_stride = y_stride};
  prepare_inputs(kernels, kind, args);
  kernels.gemm[static_cast<std::size_t>(kind)](args);
  if (args.rows < weights.rows) multiply_ragged_tile(weights, args);
}

}  // namespace roofcast
