#include "model/reference/cpu/pack_heads.hpp"

#include <algorithm>
#include <cstring>

namespace roofcast {

void pack_heads(const Bf16* q, std::int64_t heads, std::int64_t width, Bf16* packed) {
  constexpr std::int64_t kPair = 2;
  for (std::int64_t first = 0; first < heads; first += kRowTile) {
    const std::int64_t in_tile = std::min(kRowTile, heads - first);
    Bf16* const tile = packed + first * width;
    if (in_tile < kRowTile) std::fill_n(tile, kRowTile * width, Bf16{0});
    for (std::int64_t lane = 0; lane < in_tile; ++lane) {
      const Bf16* const head = q + (first + lane) * width;
      for (std::int64_t d = 0; d < width; d += kPair)
        std::memcpy(tile + (d / kPair * kRowTile + lane) * kPair, head + d, kPair * sizeof(Bf16));
    }
  }
}

}  // namespace roofcast
