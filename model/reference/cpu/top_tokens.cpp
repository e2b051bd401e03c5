#include "model/reference/cpu/top_tokens.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace roofcast {
namespace {

/// Ranges are told apart by a score's sign, exponent and first three bits.
constexpr int kRangeShift = 20;
constexpr std::size_t kRanges = std::size_t{1} << (32 - kRangeShift);
constexpr std::uint32_t kSign = 0x80000000U;

/// Bits of a score, so that they compare as integers like the scores do.
std::uint32_t ordered(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

std::size_t range_of(std::uint32_t key) { return key >> kRangeShift; }

}  // namespace

void choose_top_tokens(const float* scores, std::int64_t tokens, std::int64_t top,
                       TopTokensScratch& scratch, std::int32_t* chosen) {
  scratch.counts.assign(kRanges, 0);
  for (std::int64_t t = 0; t < tokens; ++t) ++scratch.counts[range_of(ordered(scores[t]))];
  // The range that holds the least chosen score: `left` of its scores are chosen.
  std::size_t cut = kRanges - 1;
  std::int64_t left = top;
  while (scratch.counts[cut] < left) left -= scratch.counts[cut--];
  scratch.range.clear();
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::uint32_t key = ordered(scores[t]);
    if (range_of(key) == cut) scratch.range.push_back(key);
  }
  const auto least = scratch.range.begin() + left - 1;
  std::nth_element(scratch.range.begin(), least, scratch.range.end(), std::greater<>());
  const std::uint32_t threshold = *least;
  // Before the least stand only keys as large as it.
  const auto equals = std::count(scratch.range.begin(), least + 1, threshold);
  std::int64_t at = 0;
  for (std::int64_t t = 0, taken = 0; t < tokens; ++t) {
    const std::uint32_t key = ordered(scores[t]);
    if (key < threshold || (key == threshold && taken == equals)) continue;
    taken += key == threshold ? 1 : 0;
    chosen[at++] = static_cast<std::int32_t>(t);
  }
}

}  // namespace roofcast
