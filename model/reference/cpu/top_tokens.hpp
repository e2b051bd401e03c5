#pragma once

#include <cstdint>
#include <vector>

namespace roofcast {

/// What choosing needs besides, kept between calls.
struct TopTokensScratch {
  std::vector<std::int64_t> counts;  // of each range of scores
  std::vector<std::uint32_t> range;  // scores, ordered as integers, of the range that is cut
};

/// Writes the tokens with the `top` largest of `tokens` scores to `chosen` (top), in ascending
/// order; the first among equals. 1 <= top <= tokens. Reads the scores a few times, and sorts
/// only those near the least that is chosen.
void choose_top_tokens(const float* scores, std::int64_t tokens, std::int64_t top,
                       TopTokensScratch& scratch, std::int32_t* chosen);

}  // namespace roofcast
