#pragma once

#include "model/reference/cpu/attention_scores.hpp"

// See gemm_body.hpp for how these templates are used.
namespace roofcast::detail {

/// acc += P V for `pairs` pairs of bf16 tokens.
template <typename S, int H, int D>
void mix_pairs(std::int64_t value_dim, const Bf16* probs, const CacheRun& values,
               std::int64_t pairs, typename S::Floats (&acc)[H][D]) {
  for (std::int64_t p = 0; p < pairs; ++p) {
    typename S::Pairs vectors[D];
#pragma GCC unroll 8
    for (int v = 0; v < D; ++v) {
      const std::int64_t at = (p * value_dim + v * S::kLanes) * 4;
      prefetch<S>(values.ahead + at);
      vectors[v] = S::load_pairs(reinterpret_cast<const Bf16*>(values.now + at));
    }
#pragma GCC unroll 8
    for (int h = 0; h < H; ++h) {
      const typename S::Pairs weight = S::set_pair(probs + h * kTokenBlock + 2 * p);
#pragma GCC unroll 8
      for (int v = 0; v < D; ++v) acc[h][v] = S::dot(acc[h][v], vectors[v], weight);
    }
  }
}

/// acc += P V for `tiles` times four tokens in bytes. A vector of bytes holds two pairs of tokens,
/// and is used up before the next is converted: converted vectors take too many registers.
template <typename S, KvCode C, int H, int D>
void mix_tiles(std::int64_t value_dim, const Bf16* probs, const CacheRun& values,
               std::int64_t tiles, typename S::Floats (&acc)[H][D]) {
  for (std::int64_t i = 0; i < tiles; ++i) {
    typename S::Pairs early[H];
    typename S::Pairs late[H];
#pragma GCC unroll 8
    for (int h = 0; h < H; ++h) {
      early[h] = S::set_pair(probs + h * kTokenBlock + kValueTokens * i);
      late[h] = S::set_pair(probs + h * kTokenBlock + kValueTokens * i + 2);
    }
#pragma GCC unroll 8
    for (int v = 0; v < D; ++v) {
      const std::int64_t at = (i * value_dim + v * S::kLanes) * kValueTokens;
      prefetch<S>(values.ahead + at);
      TwoVectors<S> two;
      S::template load_bytes<C>(values.now + at, two.first, two.second);
#pragma GCC unroll 8
      for (int h = 0; h < H; ++h)
        acc[h][v] = S::dot(S::dot(acc[h][v], two.first, early[h]), two.second, late[h]);
    }
  }
}

/// out (H, value_dim) = out * shrink + P V for `tokens` tokens and D vectors of the head.
template <typename S, KvCode C, int H, int D>
void attention_mix(std::int64_t value_dim, const Bf16* probs, const CacheRun& values,
                   std::int64_t tokens, const float* shrink, float* out) {
  typename S::Floats acc[H][D];
#pragma GCC unroll 8
  for (int h = 0; h < H; ++h) {
#pragma GCC unroll 8
    for (int v = 0; v < D; ++v)
      acc[h][v] = S::mul(S::load(out + h * value_dim + v * S::kLanes), S::set(shrink[h]));
  }
  if constexpr (C == KvCode::bf16)
    mix_pairs<S, H, D>(value_dim, probs, values, (tokens + 1) / 2, acc);
  else
    mix_tiles<S, C, H, D>(value_dim, probs, values, (tokens + kValueTokens - 1) / kValueTokens,
                          acc);
#pragma GCC unroll 8
  for (int h = 0; h < H; ++h) {
#pragma GCC unroll 8
    for (int v = 0; v < D; ++v) S::store(out + h * value_dim + v * S::kLanes, acc[h][v]);
  }
}

/// The width of H heads from element d on, D vectors at a time and the rest in narrower steps: the
/// wider the step, the more of each row of values is read in order.
template <typename S, KvCode C, int H, int D>
void mix_width(std::int64_t value_dim, const Bf16* probs, const CacheRun& values,
               std::int64_t tokens, const float* shrink, float* out, std::int64_t d) {
  for (; d + D * S::kLanes <= value_dim; d += D * S::kLanes) {
    // An element's pair of bf16 values, or its tile of four bytes.
    const CacheRun from_d = {values.now + 4 * d, values.ahead + 4 * d};
    attention_mix<S, C, H, D>(value_dim, probs, from_d, tokens, shrink, out + d);
  }
  if constexpr (D > 1) mix_width<S, C, H, D / 2>(value_dim, probs, values, tokens, shrink, out, d);
}

/// `left` heads from `head` on, M at a time.
template <typename S, KvCode C, int M>
void mix_heads(const AttentionArgs& a, std::int64_t head, std::int64_t left, const Bf16* probs,
               const CacheRun& values, std::int64_t tokens, const float* shrink) {
  for (; left >= M; left -= M, head += M, probs += M * kTokenBlock, shrink += M)
    mix_width<S, C, M, S::kMixVectors>(a.value_dim, probs, values, tokens, shrink,
                                       a.out + head * a.value_dim, 0);
  if constexpr (M > 1) mix_heads<S, C, M - 1>(a, head, left, probs, values, tokens, shrink);
}

/// H heads from `head` on, for a run of the cache.
template <typename S, int H>
void mix_of_code(const AttentionArgs& a, std::int64_t head, const Bf16* probs, const TokenRun& run,
                 const float* shrink) {
  const std::int64_t bytes = a.value_dim * code_bytes(a.value_code);
  const auto* const all = static_cast<const std::byte*>(a.values);
  const CacheRun values = {all + run.place * bytes, all + run.ahead * bytes};
  constexpr int kHeads = S::kMixHeads;
  switch (a.value_code) {
    case KvCode::bf16:
      return mix_heads<S, KvCode::bf16, kHeads>(a, head, H, probs, values, run.tokens, shrink);
    case KvCode::fp8_e4m3:
      return mix_heads<S, KvCode::fp8_e4m3, kHeads>(a, head, H, probs, values, run.tokens, shrink);
    case KvCode::int8:
      return mix_heads<S, KvCode::int8, kHeads>(a, head, H, probs, values, run.tokens, shrink);
  }
}

}  // namespace roofcast::detail
