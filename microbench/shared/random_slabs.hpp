#pragma once

#include <cstddef>
#include <vector>

#include "model/reference/cpu/huge_buffer.hpp"
#include "model/reference/cpu/kernels.hpp"
#include "model/reference/cpu/thread_pool.hpp"

namespace roofcast {

/// One slab of random bf16 values per thread, first touched by it; benchmarks cut their weights and
/// caches out of them. Sizes are in bytes per thread.
class RandomSlabs {
 public:
  /// Throws IoError when the system refuses.
  RandomSlabs(ThreadPool& pool, std::size_t bytes_per_thread);

  std::size_t bytes_per_thread() const { return bytes_; }
  const std::byte* data(int thread) const {
    return slabs_[static_cast<std::size_t>(thread)].data();
  }

  /// The `node`-th window of `bytes` of `thread`'s slab: consecutive nodes take consecutive
  /// windows and start over at the end, so that a window was not read for as long as possible.
  const std::byte* window(int thread, std::size_t bytes, std::size_t node) const;

 private:
  std::size_t bytes_;
  std::vector<HugeBuffer> slabs_;
};

/// Where the `node`-th window of `bytes` starts in `size` bytes: windows begin on cache lines,
/// follow each other and start over at the end.
std::size_t rotating_offset(std::size_t size, std::size_t bytes, std::size_t node);

/// Bytes per thread that make all slabs together at least four times the last-level cache, so that
/// nothing is left in it when windows start over; 64 MiB at least, in multiples of 1 MiB.
std::size_t cold_slab_bytes(int threads, std::int64_t last_level_cache_bytes);

}  // namespace roofcast
