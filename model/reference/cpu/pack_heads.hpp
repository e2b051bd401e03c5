#pragma once

#include <cstdint>

#include "model/reference/cpu/kernels.hpp"

namespace roofcast {

/// Heads rounded up to whole tiles of 16.
constexpr std::int64_t tiled_heads(std::int64_t heads) {
  return (heads + kRowTile - 1) / kRowTile * kRowTile;
}

/// Queries (heads, width) of one token as tiles (heads / 16 rounded up, width / 2, 16, 2), so that
/// one vector holds a pair of elements of each head. Heads beyond the last are zero.
void pack_heads(const Bf16* q, std::int64_t heads, std::int64_t width, Bf16* packed);

}  // namespace roofcast
