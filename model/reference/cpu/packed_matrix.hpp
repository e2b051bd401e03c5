#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/reference/cpu/huge_buffer.hpp"
#include "model/reference/cpu/kernels.hpp"
#include "model/reference/cpu/thread_pool.hpp"
#include "model/reference/cpu/weight_slab.hpp"

namespace roofcast {

/// Memory of one thread, handed out in pieces that start on a cache line. Pages are touched by
/// whoever first writes a piece, which has to be the thread that later reads it.
class Arena {
 public:
  /// `elements` bf16 values, zeroed. Throws IoError when the system refuses.
  Bf16* take(std::int64_t elements);
  /// The same in bytes.
  std::byte* take_bytes(std::int64_t bytes);

 private:
  std::vector<HugeBuffer> chunks_;
  std::size_t used_ = 0;
};

/// One arena per thread of a pool.
using Arenas = std::vector<Arena>;

/// Writes row `row` of a matrix, (k) bf16 values, to `out`.
using RowSource = std::function<void(std::int64_t row, Bf16* out)>;

/// A matrix (rows, k) in one weight format as row tiles, split by rows into one slab per thread,
/// which lies in its thread's arena. The matrix's last tile may have fewer than 16 rows.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  /// The first slab goes to thread `first_thread`: many matrices of few tiles share threads evenly
  /// when each starts at another. Throws UnsupportedError unless k is above 0 and a multiple of
  /// what the format needs.
  PackedMatrix(std::int64_t rows, std::int64_t k, const WeightFormat& format, Arenas& arenas,
               std::int64_t first_thread = 0);

  std::int64_t rows() const { return rows_; }
  std::int64_t k() const { return k_; }
  const WeightFormat& format() const { return format_; }
  /// Rows of `thread`'s slab.
  Range slab(int thread) const { return slabs_[static_cast<std::size_t>(thread)].rows; }
  /// What `thread` multiplies.
  WeightSlab weights(int thread) const;
  double slab_bytes(int thread) const {
    return static_cast<double>(slab(thread).size() * row_bytes());
  }
  std::int64_t row_bytes() const { return format_.row_bytes(k_); }

  /// Fills the slab of `thread`; to be called by that thread.
  void fill(int thread, const RowSource& source);

  /// Copies row `row`, (k) values as they are stored but rounded to bf16, to `out`.
  void gather_row(std::int64_t row, Bf16* out) const;

  /// y (batch, rows) = x (batch, k) W^T + bias, the rows of `thread`'s slab.
  void multiply(const Kernels& kernels, int thread, const Bf16* x, std::int64_t batch,
                const Bf16* bias, Bf16* y) const;

 private:
  struct Slab {
    Range rows;
    std::byte* data = nullptr;
    float* row_scales = nullptr;
  };

  WeightFormat format_ = kBf16Weights;
  std::int64_t rows_ = 0;
  std::int64_t k_ = 0;
  std::vector<Slab> slabs_;  // by thread
};

}  // namespace roofcast
