#pragma once

#include <cstdint>
#include <vector>

#include "model/reference/cpu/kernels.hpp"
#include "model/reference/cpu/packed_matrix.hpp"
#include "model/reference/kv_layout.hpp"

namespace roofcast {

/// Sizes of a cache.
struct KvShape {
  std::int64_t sequences = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t capacity = 0;  // tokens of a sequence
};

/// Keys and values of one layer. An item is one key-value head of one sequence (sequence-major);
/// threads own contiguous runs of items, whose memory lies in their arenas. In a paged cache each
/// sequence has a table of pages for all of its heads: the run of tokens i lies where page
/// pages(sequence)[i] of every item is, and the order is shuffled as after many allocations.
class KvCache {
 public:
  KvCache() = default;
  KvCache(const KvLayout& layout, const KvShape& shape, Arenas& arenas);

  std::int64_t items() const { return static_cast<std::int64_t>(keys_.size()); }
  /// Bytes of one token of one item, K and V together.
  std::int64_t token_bytes() const {
    return shape_.head_dim * code_bytes(layout_.keys.code) +
           shape_.value_dim * code_bytes(layout_.values.code);
  }

  /// Fills all items of `thread` with random values; to be called by that thread.
  void fill(int thread, int threads, std::uint64_t seed);

  /// Stores one token's key (head_dim) and value (value_dim) as the codes nearest to them.
  void append(std::int64_t item, std::int64_t token, const Bf16* key, const Bf16* value);

  const std::byte* keys(std::int64_t item) const { return keys_[static_cast<std::size_t>(item)]; }
  const std::byte* values(std::int64_t item) const {
    return values_[static_cast<std::size_t>(item)];
  }
  /// Null in a contiguous cache.
  const std::int32_t* pages(std::int64_t sequence) const {
    return pages_.empty() ? nullptr : pages_[static_cast<std::size_t>(sequence)].data();
  }

  /// An element as attention counts it: scale times code.
  float key_at(std::int64_t item, std::int64_t token, std::int64_t element) const;
  float value_at(std::int64_t item, std::int64_t token, std::int64_t element) const;

 private:
  /// Where a token of an item lies in its memory, in tokens.
  std::int64_t place(std::int64_t item, std::int64_t token) const;

  KvLayout layout_;
  KvShape shape_;                 // the capacity a multiple of kTokenStep and of a page
  std::vector<std::byte*> keys_;  // see AttentionArgs
  std::vector<std::byte*> values_;
  std::vector<std::vector<std::int32_t>> pages_;  // by sequence
};

}  // namespace roofcast
