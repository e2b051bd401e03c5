#include "model/reference/latent_cache.hpp"

#include "model/reference/weights.hpp"

namespace roofcast {

LatentCache::LatentCache(std::int64_t sequences, std::int64_t width, std::int64_t capacity,
                         Arenas& arenas)
    : width_(width), capacity_(capacity) {
  const int threads = static_cast<int>(arenas.size());
  for (int thread = 0; thread < threads; ++thread) {
    const Range own = part_of(sequences, thread, threads);
    for (std::int64_t sequence = own.begin; sequence < own.end; ++sequence)
      rows_.push_back(arenas[static_cast<std::size_t>(thread)].take(capacity * width));
  }
}

void LatentCache::fill(int thread, int threads, std::uint64_t seed) {
  const Range own = part_of(static_cast<std::int64_t>(rows_.size()), thread, threads);
  for (std::int64_t sequence = own.begin; sequence < own.end; ++sequence)
    fill_random(seed * 1000003U + static_cast<std::uint64_t>(sequence), row(sequence, 0),
                capacity_ * width_);
}

}  // namespace roofcast
