#pragma once

#include <functional>
#include <vector>

#include "model/reference/cpu/packed_matrix.hpp"
#include "model/reference/step_context.hpp"

namespace roofcast {

/// One vector per head and sequence, strides in elements.
template <typename T>
struct HeadVectors {
  T* data = nullptr;
  std::int64_t head_stride = 0;
  std::int64_t sequence_stride = 0;
};

/// Writes the matrix of one head, (rows, k), to `out`.
using HeadSource = std::function<void(std::int64_t head, Bf16* out)>;

/// A matrix (rows, k) of its own for each head, split by rows among threads.
class HeadMatrices {
 public:
  HeadMatrices() = default;
  /// Throws std::invalid_argument unless `rows` is a multiple of kRowTile, and
  /// what PackedMatrix throws.
  HeadMatrices(std::int64_t heads, std::int64_t rows, std::int64_t k, const WeightFormat& format,
               Arenas& arenas);

  const WeightFormat& format() const { return stacked_.format(); }

  /// Fills the slab of `thread`; to be called by that thread.
  void fill(int thread, const HeadSource& source);

  /// y = W x of every head and sequence, the rows of this thread, as operator `op`: multiplies and
  /// counts.
  void multiply(StepContext& step, int thread, int op, const HeadVectors<const Bf16>& x,
                const HeadVectors<Bf16>& y) const;

 private:
  std::int64_t rows_ = 0;  // of one head
  PackedMatrix stacked_;   // row = head x rows + row of the head
};

}  // namespace roofcast
