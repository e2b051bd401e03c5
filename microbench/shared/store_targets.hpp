#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/reference/cpu/huge_buffer.hpp"
#include "model/reference/cpu/thread_pool.hpp"

namespace roofcast {

/// Memory that benchmarks store to, one buffer per thread, first touched by it. Empty until the
/// first benchmark that needs it.
class StoreTargets {
 public:
  /// Makes room for cold_slab_bytes() per thread. Throws IoError when the system refuses.
  void reserve(ThreadPool& pool, std::int64_t last_level_cache_bytes);

  std::size_t bytes_per_thread() const { return buffers_.empty() ? 0 : buffers_.front().size(); }

  /// The `node`-th window of `bytes` of `thread`'s buffer; windows start over at the end.
  std::byte* window(int thread, std::size_t bytes, std::size_t node) const;

 private:
  std::vector<HugeBuffer> buffers_;
};

}  // namespace roofcast
