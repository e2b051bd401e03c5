#pragma once

#include "model/reference/cpu/kernels.hpp"

// See gemm_body.hpp for how these templates are used.
namespace roofcast::detail {

/// Tokens whose scores are formed before the running maximum is updated.
inline constexpr std::int64_t kTokenBlock = 64;
inline constexpr float kMaskedScore = -1e30F;

/// A stretch of a cache, and where the stretch lies that follows a block later. It is asked for
/// while this one is read: hardware does not see it coming across pages.
struct CacheRun {
  const std::byte* now = nullptr;
  const std::byte* ahead = nullptr;
};

/// Asks for the line at `at`, which may lie outside of any memory, to come to the second level: the
/// first is too small for a block.
template <typename S>
void prefetch(const std::byte* at) {
  __builtin_prefetch(at, 0, 2);
}

/// Two vectors of elements as they follow in a tile, as pairs of bf16 values.
template <typename S>
struct TwoVectors {
  typename S::Pairs first, second;
};

/// 16 elements of kLanes / 4 tokens each: 8 of all tokens, then the other 8.
template <typename S, KvCode C>
TwoVectors<S> load_keys(const std::byte* at) {
  TwoVectors<S> keys;
  if constexpr (C == KvCode::bf16) {
    const auto* const values = reinterpret_cast<const Bf16*>(at);
    keys.first = S::load_pairs(values);
    keys.second = S::load_pairs(values + kKeyTokens * kKeyRunBytes / 2);
  } else {
    S::template load_bytes<C>(at, keys.first, keys.second);
  }
  return keys;
}

/// Sums over pairs of one vector of keys for H heads, as kLanes / 4 tokens x 4 partial sums each,
/// to `sums` (H, 4 vectors). Two interleaved chains walk the head, so that memory is read in order.
template <typename S, KvCode C, int H>
void key_sums(const Bf16* q, const CacheRun& keys, std::int64_t head_dim, float* sums) {
  typename S::Floats acc[H][2];
#pragma GCC unroll 8
  for (int h = 0; h < H; ++h) acc[h][0] = acc[h][1] = S::zero();
  for (std::int64_t d = 0; d < head_dim; d += 16) {
    const std::int64_t at = d * kKeyTokens * code_bytes(C);
    prefetch<S>(keys.ahead + at);
    if constexpr (C == KvCode::bf16) prefetch<S>(keys.ahead + at + kKeyTokens * kKeyRunBytes);
    const TwoVectors<S> k = load_keys<S, C>(keys.now + at);
#pragma GCC unroll 8
    for (int h = 0; h < H; ++h)
      acc[h][0] = S::dot(acc[h][0], k.first, S::set_group(q + h * head_dim + d));
#pragma GCC unroll 8
    for (int h = 0; h < H; ++h)
      acc[h][1] = S::dot(acc[h][1], k.second, S::set_group(q + h * head_dim + d + 8));
  }
#pragma GCC unroll 8
  for (int h = 0; h < H; ++h) S::store(sums + 4 * h * S::kLanes, S::add(acc[h][0], acc[h][1]));
}

/// Scores of H heads for `tokens` tokens of a block. A vector holds kLanes / 4 tokens x 4 partial
/// sums; four of them make kLanes tokens, whose partial sums are added at the end.
template <typename S, KvCode C, int H>
void attention_scores(std::int64_t head_dim, const Bf16* q, const CacheRun& keys,
                      std::int64_t tokens, float* scores) {
  constexpr std::int64_t kTokens = S::kLanes / 4;  // of one vector
  alignas(64) float sums[H * 4 * S::kLanes];
  for (std::int64_t t = 0; t < tokens; t += S::kLanes) {
    for (int j = 0; j < 4; ++j) {
      const std::int64_t token = t + j * kTokens;
      const std::int64_t at = token / kKeyTokens * kKeyTokens * head_dim * code_bytes(C) +
                              token % kKeyTokens * kKeyRunBytes;
      key_sums<S, C, H>(q, {keys.now + at, keys.ahead + at}, head_dim, sums + j * S::kLanes);
    }
#pragma GCC unroll 8
    for (int h = 0; h < H; ++h) {
      const float* const own = sums + h * 4 * S::kLanes;
      S::store(scores + h * kTokenBlock + t,
               S::add_groups(S::load(own), S::load(own + S::kLanes), S::load(own + 2 * S::kLanes),
                             S::load(own + 3 * S::kLanes)));
    }
  }
}

/// Where `tokens` tokens lie in the cache from `place` on, and those a block later from `ahead` on.
struct TokenRun {
  std::int64_t place = 0;
  std::int64_t ahead = 0;
  std::int64_t tokens = 0;
};

/// The same for a run of the cache.
template <typename S, int H>
void scores_of_code(const AttentionArgs& a, const Bf16* q, const TokenRun& run, float* scores) {
  const std::int64_t bytes = a.head_dim * code_bytes(a.key_code);
  const auto* const all = static_cast<const std::byte*>(a.keys);
  const CacheRun keys = {all + run.place * bytes, all + run.ahead * bytes};
  switch (a.key_code) {
    case KvCode::bf16:
      return attention_scores<S, KvCode::bf16, H>(a.head_dim, q, keys, run.tokens, scores);
    case KvCode::fp8_e4m3:
      return attention_scores<S, KvCode::fp8_e4m3, H>(a.head_dim, q, keys, run.tokens, scores);
    case KvCode::int8:
      return attention_scores<S, KvCode::int8, H>(a.head_dim, q, keys, run.tokens, scores);
  }
}

}  // namespace roofcast::detail
