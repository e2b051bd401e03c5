#include "microbench/shared/store_targets.hpp"

#include <algorithm>
#include <cstring>

#include "microbench/shared/random_slabs.hpp"

namespace roofcast {

void StoreTargets::reserve(ThreadPool& pool, std::int64_t last_level_cache_bytes) {
  if (!buffers_.empty()) return;
  const std::size_t bytes = cold_slab_bytes(pool.size(), last_level_cache_bytes);
  for (int i = 0; i < pool.size(); ++i) buffers_.emplace_back(bytes);
  pool.run([this, bytes](int thread) {
    std::memset(buffers_[static_cast<std::size_t>(thread)].data(), 1, bytes);
  });
}

std::byte* StoreTargets::window(int thread, std::size_t bytes, std::size_t node) const {
  const HugeBuffer& buffer = buffers_[static_cast<std::size_t>(thread)];
  return buffer.data() + rotating_offset(buffer.size(), bytes, node);
}

}  // namespace roofcast
