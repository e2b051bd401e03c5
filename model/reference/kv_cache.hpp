#pragma once

#include <cstdint>
#include <vector>

#include "model/reference/cpu/kernels.hpp"
#include "model/reference/cpu/packed_matrix.hpp"

namespace roofcast {

/// Keys and values of one layer. An item is one key-value head of one sequence (sequence-major);
/// threads own contiguous runs of items, whose memory lies in their arenas.
class KvCache {
 public:
  KvCache() = default;
  KvCache(std::int64_t sequences, std::int64_t kv_heads, std::int64_t head_dim,
          std::int64_t capacity, Arenas& arenas);

  std::int64_t items() const { return static_cast<std::int64_t>(keys_.size()); }

  /// Fills all items of `thread` with random values; to be called by that thread.
  void fill(int thread, int threads, std::uint64_t seed);

  /// Appends one token's key and value, (head_dim) each.
  void append(std::int64_t item, std::int64_t token, const Bf16* key, const Bf16* value);

  const Bf16* keys(std::int64_t item) const { return keys_[static_cast<std::size_t>(item)]; }
  const Bf16* values(std::int64_t item) const { return values_[static_cast<std::size_t>(item)]; }

  float key_at(std::int64_t item, std::int64_t token, std::int64_t element) const;
  float value_at(std::int64_t item, std::int64_t token, std::int64_t element) const;

 private:
  std::int64_t head_dim_ = 0;
  std::int64_t capacity_ = 0;  // a multiple of kTokenStep
  std::vector<Bf16*> keys_;    // (tokens / 4, head_dim / 8, 4, 8)
  std::vector<Bf16*> values_;  // (tokens / 2, head_dim, 2)
};

}  // namespace roofcast
