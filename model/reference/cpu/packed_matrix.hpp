#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/reference/cpu/huge_buffer.hpp"
#include "model/reference/cpu/kernels.hpp"
#include "model/reference/cpu/thread_pool.hpp"

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

/// A bf16 matrix (rows, k) as row tiles, split by rows into one slab per thread. A slab lies in its
/// thread's arena as (tiles, k / 2, 16, 2); the matrix's last tile may have fewer than 16 rows.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  /// The first slab goes to thread `first_thread`: many matrices of few tiles share threads evenly
  /// when each starts at another. Throws std::invalid_argument unless k is even and above 0.
  PackedMatrix(std::int64_t rows, std::int64_t k, Arenas& arenas, std::int64_t first_thread = 0);

  std::int64_t rows() const { return rows_; }
  std::int64_t k() const { return k_; }
  /// Rows of `thread`'s slab.
  Range slab(int thread) const { return slabs_[static_cast<std::size_t>(thread)].rows; }
  /// Its row tiles; null without rows.
  const Bf16* slab_data(int thread) const { return slabs_[static_cast<std::size_t>(thread)].data; }
  double slab_bytes(int thread) const {
    return static_cast<double>(slab(thread).size() * k_) * sizeof(Bf16);
  }

  /// Fills the slab of `thread`; to be called by that thread.
  void fill(int thread, const RowSource& source);

  /// Copies row `row`, (k) values, to `out`.
  void gather_row(std::int64_t row, Bf16* out) const;

  /// y (batch, rows) = x (batch, k) W^T + bias, the rows of `thread`'s slab.
  void multiply(const Kernels& kernels, int thread, const Bf16* x, std::int64_t batch,
                const Bf16* bias, Bf16* y) const;

 private:
  struct Slab {
    Range rows;
    Bf16* data = nullptr;
  };

  std::int64_t rows_ = 0;
  std::int64_t k_ = 0;
  std::vector<Slab> slabs_;  // by thread
};

}  // namespace roofcast
