#include "microbench/shared/random_slabs.hpp"

#include <algorithm>
#include <cstring>

namespace roofcast {
namespace {

constexpr std::size_t kCacheLine = 64;

/// bf16 values +-[0.5, 1): any part of a slab can serve as weights, keys or values.
void fill_slab(std::byte* data, std::size_t bytes, std::uint64_t seed) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  for (std::size_t i = 0; i + sizeof state <= bytes; i += sizeof state) {
    state ^= state << 13;  // xorshift64 (Marsaglia 2003)
    state ^= state >> 7;
    state ^= state << 17;
    const std::uint64_t four = (state & 0x807f807f807f807fU) | 0x3f003f003f003f00U;
    std::memcpy(data + i, &four, sizeof four);
  }
}

}  // namespace

RandomSlabs::RandomSlabs(ThreadPool& pool, std::size_t bytes_per_thread)
    : bytes_(bytes_per_thread) {
  for (int i = 0; i < pool.size(); ++i) slabs_.emplace_back(bytes_);
  pool.run([this](int thread) {
    fill_slab(slabs_[static_cast<std::size_t>(thread)].data(), bytes_,
              static_cast<std::uint64_t>(thread) + 1);
  });
}

const std::byte* RandomSlabs::window(int thread, std::size_t bytes, std::size_t node) const {
  return data(thread) + rotating_offset(bytes_, bytes, node);
}

std::size_t rotating_offset(std::size_t size, std::size_t bytes, std::size_t node) {
  const std::size_t stride = (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  const std::size_t windows = std::max<std::size_t>(1, size / std::max<std::size_t>(stride, 1));
  return node % windows * stride;
}

std::size_t cold_slab_bytes(int threads, std::int64_t last_level_cache_bytes) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  constexpr std::size_t kLeast = 64 * kMiB;
  const auto total =
      static_cast<std::size_t>(std::max<std::int64_t>(0, last_level_cache_bytes)) * 4;
  const std::size_t each = total / static_cast<std::size_t>(threads);
  return std::max(kLeast, (each + kMiB - 1) / kMiB * kMiB);
}

}  // namespace roofcast
