#pragma once

#include <cstdint>
#include <vector>

#include "model/reference/cpu/packed_matrix.hpp"

namespace roofcast {

/// One row per cached token that serves all heads: latents, or index keys. Rows of a sequence lie
/// in order, (capacity, width), in the arena of the thread that owns the sequence.
class LatentCache {
 public:
  LatentCache() = default;
  LatentCache(std::int64_t sequences, std::int64_t width, std::int64_t capacity, Arenas& arenas);

  /// Fills the sequences of `thread` with random values; to be called by that thread.
  void fill(int thread, int threads, std::uint64_t seed);

  const Bf16* rows(std::int64_t sequence) const {
    return rows_[static_cast<std::size_t>(sequence)];
  }
  Bf16* row(std::int64_t sequence, std::int64_t token) {
    return rows_[static_cast<std::size_t>(sequence)] + token * width_;
  }
  float at(std::int64_t sequence, std::int64_t token, std::int64_t element) const {
    return bf16_to_float(rows(sequence)[token * width_ + element]);
  }

 private:
  std::int64_t width_ = 0;
  std::int64_t capacity_ = 0;
  std::vector<Bf16*> rows_;  // by sequence
};

}  // namespace roofcast
