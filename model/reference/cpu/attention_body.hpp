#pragma once

#include "model/reference/cpu/kernels.hpp"

// See gemm_body.hpp for how these templates are used.
namespace roofcast::detail {

/// Tokens whose scores are formed before the running maximum is updated.
inline constexpr std::int64_t kTokenBlock = 64;
inline constexpr float kMaskedScore = -1e30F;

/// Sums over pairs of one vector of keys for H heads, as kLanes / 4 tokens x 4 partial sums each,
/// to `sums` (H, stride). Two interleaved chains walk the head, so that memory is read in order.
template <typename S, int H>
void key_sums(const Bf16* q, const Bf16* keys, std::int64_t head_dim, float* sums,
              std::int64_t stride) {
  constexpr int kChains = 2;
  typename S::Floats acc[H][kChains];
#pragma GCC unroll 8
  for (int h = 0; h < H; ++h) {
#pragma GCC unroll 8
    for (int j = 0; j < kChains; ++j) acc[h][j] = S::zero();
  }
  for (std::int64_t d = 0; d < head_dim; d += kChains * kKeyElements) {
#pragma GCC unroll 8
    for (int j = 0; j < kChains; ++j) {
      const std::int64_t at = d + j * kKeyElements;
      const typename S::Pairs k = S::load_pairs(keys + at * kKeyTokens);
#pragma GCC unroll 8
      for (int h = 0; h < H; ++h)
        acc[h][j] = S::dot(acc[h][j], k, S::set_group(q + h * head_dim + at));
    }
  }
#pragma GCC unroll 8
  for (int h = 0; h < H; ++h) S::store(sums + h * stride, S::add(acc[h][0], acc[h][1]));
}

/// Scores of H heads for `tokens` tokens of a block. A vector holds kLanes / 4 tokens x 4 partial
/// sums; four of them make kLanes tokens, whose partial sums are added at the end.
template <typename S, int H>
void attention_scores(const AttentionArgs& a, const Bf16* q, const Bf16* keys, std::int64_t tokens,
                      float* scores) {
  constexpr std::int64_t kTokens = S::kLanes / 4;  // of one vector
  constexpr std::int64_t kStride = 4 * S::kLanes;
  alignas(64) float sums[H * kStride];
  for (std::int64_t t = 0; t < tokens; t += S::kLanes) {
    for (int j = 0; j < 4; ++j) {
      const std::int64_t token = t + j * kTokens;
      const Bf16* const at =
          keys + token / kKeyTokens * kKeyTokens * a.head_dim + token % kKeyTokens * kKeyElements;
      key_sums<S, H>(q, at, a.head_dim, sums + j * S::kLanes, kStride);
    }
#pragma GCC unroll 8
    for (int h = 0; h < H; ++h) {
      const float* const own = sums + h * kStride;
      S::store(scores + h * kTokenBlock + t,
               S::add_groups(S::load(own), S::load(own + S::kLanes), S::load(own + 2 * S::kLanes),
                             S::load(own + 3 * S::kLanes)));
    }
  }
}

/// out (H, D vectors) = out * shrink + P V for `pairs` pairs of tokens and D vectors of the head.
template <typename S, int H, int D>
void attention_mix(const AttentionArgs& a, const Bf16* probs, const Bf16* values,
                   std::int64_t pairs, const float* shrink, float* out) {
  typename S::Floats acc[H][D];
#pragma GCC unroll 8
  for (int h = 0; h < H; ++h) {
#pragma GCC unroll 8
    for (int v = 0; v < D; ++v)
      acc[h][v] = S::mul(S::load(out + h * a.head_dim + v * S::kLanes), S::set(shrink[h]));
  }
  for (std::int64_t p = 0; p < pairs; ++p) {
    typename S::Pairs vectors[D];
#pragma GCC unroll 8
    for (int v = 0; v < D; ++v) {
      const Bf16* at = values + p * 2 * a.head_dim + v * 2 * S::kLanes;
      vectors[v] = S::load_pairs(at);
    }
#pragma GCC unroll 8
    for (int h = 0; h < H; ++h) {
      const typename S::Pairs weight = S::set_pair(probs + h * kTokenBlock + 2 * p);
#pragma GCC unroll 8
      for (int v = 0; v < D; ++v) acc[h][v] = S::dot(acc[h][v], vectors[v], weight);
    }
  }
#pragma GCC unroll 8
  for (int h = 0; h < H; ++h) {
#pragma GCC unroll 8
    for (int v = 0; v < D; ++v) S::store(out + h * a.head_dim + v * S::kLanes, acc[h][v]);
  }
}

/// The width of H heads from element d on, D vectors at a time and the rest in narrower steps: the
/// wider the step, the more of each row of values is read in order.
template <typename S, int H, int D>
void mix_width(const AttentionArgs& a, const Bf16* probs, const Bf16* values, std::int64_t pairs,
               const float* shrink, float* out, std::int64_t d) {
  for (; d + D * S::kLanes <= a.head_dim; d += D * S::kLanes)
    attention_mix<S, H, D>(a, probs, values + 2 * d, pairs, shrink, out + d);
  if constexpr (D > 1) mix_width<S, H, D / 2>(a, probs, values, pairs, shrink, out, d);
}

/// `left` heads from `head` on, M at a time.
template <typename S, int M>
void mix_heads(const AttentionArgs& a, std::int64_t head, std::int64_t left, const Bf16* probs,
               const Bf16* values, std::int64_t pairs, const float* shrink) {
  for (; left >= M; left -= M, head += M, probs += M * kTokenBlock, shrink += M)
    mix_width<S, M, S::kMixVectors>(a, probs, values, pairs, shrink, a.out + head * a.head_dim, 0);
  if constexpr (M > 1) mix_heads<S, M - 1>(a, head, left, probs, values, pairs, shrink);
}

/// Softmax step of one head: turns scores into bf16 weights against the new running maximum, adds
/// to the running sum, and returns the factor by which earlier sums and outputs shrink.
template <typename S>
float online_softmax(float* scores, std::int64_t tokens, float scale, float& max, float& sum,
                     Bf16* probs) {
  const std::int64_t padded = (tokens + kTokenStep - 1) / kTokenStep * kTokenStep;
  for (std::int64_t t = tokens; t < padded; ++t) scores[t] = kMaskedScore;
  typename S::Floats top = S::set(kMaskedScore);
  for (std::int64_t t = 0; t < padded; t += S::kLanes) top = S::max(top, S::load(scores + t));
  const float block_max = S::horizontal_max(top) * scale;
  const float new_max = block_max > max ? block_max : max;
  const float shrink = S::exp_scalar(max - new_max);
  typename S::Floats total = S::zero();
  const typename S::Floats offset = S::set(-new_max);
  for (std::int64_t t = 0; t < padded; t += S::kLanes) {
    const typename S::Floats p = S::exp(S::fma(S::load(scores + t), S::set(scale), offset));
    total = S::add(total, p);
    S::store_bf16(probs + t, p);
  }
  sum = sum * shrink + S::horizontal_sum(total);
  max = new_max;
  return shrink;
}

/// One block of tokens for H heads, of which the first is `head`.
template <typename S, int H>
void attention_block(const AttentionArgs& a, std::int64_t head, std::int64_t token,
                     std::int64_t tokens) {
  alignas(64) float scores[H * kTokenBlock];
  alignas(64) Bf16 probs[H * kTokenBlock];
  float shrink[H];
  attention_scores<S, H>(a, a.q + head * a.head_dim, a.keys + token * a.head_dim, tokens, scores);
  for (int h = 0; h < H; ++h)
    shrink[h] = online_softmax<S>(scores + h * kTokenBlock, tokens, a.scale, a.max[head + h],
                                  a.sum[head + h], probs + h * kTokenBlock);
  const Bf16* const values = a.values + token * a.head_dim;
  mix_heads<S, S::kMixHeads>(a, head, H, probs, values, (tokens + 1) / 2, shrink);
}

template <typename S, int H>
void attention_heads(const AttentionArgs& a, std::int64_t head, std::int64_t token,
                     std::int64_t tokens) {
  for (; head + H <= a.group; head += H) attention_block<S, H>(a, head, token, tokens);
  if constexpr (H > 1) attention_heads<S, H - 1>(a, head, token, tokens);
}

template <typename S>
void attend(const AttentionArgs& a) {
  for (std::int64_t h = 0; h < a.group; ++h) {
    a.max[h] = kMaskedScore;
    a.sum[h] = 0.0F;
    for (std::int64_t d = 0; d < a.head_dim; ++d) a.out[h * a.head_dim + d] = 0.0F;
  }
  for (std::int64_t t = a.token0; t < a.token1; t += kTokenBlock) {
    const std::int64_t left = a.token1 - t;
    attention_heads<S, S::kHeads>(a, 0, t, left < kTokenBlock ? left : kTokenBlock);
  }
}

}  // namespace roofcast::detail
