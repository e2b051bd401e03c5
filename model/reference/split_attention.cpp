#include "model/reference/split_attention.hpp"

#include <algorithm>
#include <cmath>

#include "model/reference/cpu/kernels.hpp"

namespace roofcast {
namespace {

std::int64_t steps_of(std::int64_t tokens) { return (tokens + kTokenStep - 1) / kTokenStep; }

}  // namespace

std::vector<AttentionPiece> attention_pieces(std::int64_t items, std::int64_t tokens, int thread,
                                             int threads) {
  const std::int64_t steps = steps_of(tokens);
  const Range own = part_of(items * steps, thread, threads);
  std::vector<AttentionPiece> pieces;
  for (std::int64_t at = own.begin; at < own.end;) {
    const std::int64_t item = at / steps;
    const std::int64_t until = std::min(own.end, (item + 1) * steps);
    AttentionPiece piece;
    piece.item = item;
    piece.token0 = (at - item * steps) * kTokenStep;
    piece.token1 = std::min((until - item * steps) * kTokenStep, tokens);
    piece.first = piece.token0 == 0;
    piece.last = piece.token1 == tokens;
    pieces.push_back(piece);
    at = until;
  }
  return pieces;
}

bool splits_items(std::int64_t items, std::int64_t tokens, int threads) {
  const std::int64_t steps = steps_of(tokens);
  for (int thread = 1; thread < threads; ++thread)
    if (part_of(items * steps, thread, threads).begin % steps != 0) return true;
  return false;
}

void merge_part(const AttentionPart& other, std::int64_t head_dim, AttentionPart& part) {
  for (std::size_t h = 0; h < part.max.size(); ++h) {
    const float top = std::max(part.max[h], other.max[h]);
    const float own_weight = std::exp(part.max[h] - top);
    const float other_weight = std::exp(other.max[h] - top);
    part.max[h] = top;
    part.sum[h] = part.sum[h] * own_weight + other.sum[h] * other_weight;
    const std::size_t first = h * static_cast<std::size_t>(head_dim);
    for (std::size_t i = first; i < first + static_cast<std::size_t>(head_dim); ++i)
      part.out[i] = part.out[i] * own_weight + other.out[i] * other_weight;
  }
}

}  // namespace roofcast
