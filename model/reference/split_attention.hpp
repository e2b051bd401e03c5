#pragma once

#include <cstdint>
#include <vector>

#include "model/reference/cpu/thread_pool.hpp"

namespace roofcast {

/// A run of tokens of one item (a key-value head of one sequence).
struct AttentionPiece {
  std::int64_t item = 0;
  std::int64_t token0 = 0;
  std::int64_t token1 = 0;
  bool first = false;  // starts at token 0
  bool last = false;   // ends at the newest token
  bool whole() const { return first && last; }
  bool operator==(const AttentionPiece&) const = default;
};

/// Shares `items` caches of `tokens` tokens evenly among threads, in steps of kTokenStep tokens.
/// A thread gets whole items but for the first and the last of its pieces, which other threads may
/// continue: when few heads meet many threads, the context itself is split.
std::vector<AttentionPiece> attention_pieces(std::int64_t items, std::int64_t tokens, int thread,
                                             int threads);

/// Whether any item is shared between threads, so that their parts have to be merged.
bool splits_items(std::int64_t items, std::int64_t tokens, int threads);

/// Parts of the outputs of one item as one thread left them, see AttentionArgs.
struct AttentionPart {
  std::int64_t item = -1;  // -1: none
  bool last = false;
  std::vector<float> max;  // (group)
  std::vector<float> sum;  // (group)
  std::vector<float> out;  // (group, head_dim)
};

/// Adds `other` to `part`: both weigh by their distance to the larger maximum.
void merge_part(const AttentionPart& other, std::int64_t head_dim, AttentionPart& part);

}  // namespace roofcast
