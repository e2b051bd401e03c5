#include "model/reference/head_matrices.hpp"

#include <algorithm>
#include <stdexcept>

namespace roofcast {

HeadMatrices::HeadMatrices(std::int64_t heads, std::int64_t rows, std::int64_t k,
                           const WeightFormat& format, Arenas& arenas)
    : rows_(rows), stacked_(heads * rows, k, format, arenas) {
  if (rows % kRowTile != 0)
    throw std::invalid_argument("matrices of heads need whole tiles of rows");
}

void HeadMatrices::fill(int thread, const HeadSource& source) {
  std::vector<Bf16> matrix(static_cast<std::size_t>(rows_ * stacked_.k()));
  std::int64_t loaded = -1;
  stacked_.fill(thread, [&](std::int64_t row, Bf16* out) {
    if (row / rows_ != loaded) {
      loaded = row / rows_;
      source(loaded, matrix.data());
    }
    std::copy_n(matrix.data() + row % rows_ * stacked_.k(), stacked_.k(), out);
  });
}

void HeadMatrices::multiply(StepContext& step, int thread, int op, const HeadVectors<const Bf16>& x,
                            const HeadVectors<Bf16>& y) const {
  const Range slab = stacked_.slab(thread);
  if (slab.size() == 0) return;
  std::int64_t vectors = 0;
  for (std::int64_t row = slab.begin; row < slab.end;) {
    const std::int64_t head = row / rows_;
    const std::int64_t until = std::min((head + 1) * rows_, slab.end);
    const WeightSlab weights =
        rows_of(stacked_.weights(thread), row - slab.begin, until - slab.begin);
    roofcast::multiply(step.kernels, weights, x.data + head * x.head_stride, x.sequence_stride,
                       step.batch, nullptr, y.data + head * y.head_stride + row % rows_,
                       y.sequence_stride);
    vectors += stacked_.k() + until - row;
    row = until;
  }
  Traffic& bytes = step.recorder.bytes(thread, op);
  bytes.weights += Bytes{stacked_.slab_bytes(thread)};
  bytes.activations += Bytes{static_cast<double>(step.batch * vectors) * sizeof(Bf16)};
}

}  // namespace roofcast
