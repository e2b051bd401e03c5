#pragma once

#include "model/reference/cpu/attention_mix.hpp"
#include "model/reference/cpu/attention_scores.hpp"

// See gemm_body.hpp for how these templates are used.
namespace roofcast::detail {

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

/// Where `token` lies in the cache, in tokens.
template <typename S>
std::int64_t place_of(const AttentionArgs& a, std::int64_t token) {
  if (a.pages == nullptr) return token;
  return a.pages[token / a.page_tokens] * a.page_tokens + token % a.page_tokens;
}

/// The run that starts with `token`, of at most `limit` tokens. The last block is followed by none,
/// and asks for itself.
template <typename S>
TokenRun run_from(const AttentionArgs& a, std::int64_t token, std::int64_t limit) {
  const std::int64_t later = token + kTokenBlock < a.token1 ? token + kTokenBlock : token;
  TokenRun run{place_of<S>(a, token), place_of<S>(a, later), limit};
  if (a.pages == nullptr) return run;
  const std::int64_t left = a.page_tokens - token % a.page_tokens;
  if (left < limit) run.tokens = left;
  return run;
}

/// One block of tokens for H heads, of which the first is `head`. Pages end at multiples of
/// kTokenStep, so that results do not depend on where a block is cut into runs: what a run adds to
/// is stored in fp32 and loaded again.
template <typename S, int H>
void attention_block(const AttentionArgs& a, std::int64_t head, std::int64_t token,
                     std::int64_t tokens) {
  alignas(64) float scores[H * kTokenBlock];
  alignas(64) Bf16 probs[H * kTokenBlock];
  float shrink[H];
  for (std::int64_t t = 0; t < tokens;) {
    const TokenRun run = run_from<S>(a, token + t, tokens - t);
    scores_of_code<S, H>(a, a.q + head * a.head_dim, run, scores + t);
    t += run.tokens;
  }
  for (int h = 0; h < H; ++h)
    shrink[h] = online_softmax<S>(scores + h * kTokenBlock, tokens, a.scale, a.max[head + h],
                                  a.sum[head + h], probs + h * kTokenBlock);
  for (std::int64_t t = 0; t < tokens;) {
    const TokenRun run = run_from<S>(a, token + t, tokens - t);
    mix_of_code<S, H>(a, head, probs + t, run, shrink);
    for (float& factor : shrink) factor = 1.0F;
    t += run.tokens;
  }
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
    for (std::int64_t d = 0; d < a.value_dim; ++d) a.out[h * a.value_dim + d] = 0.0F;
  }
  for (std::int64_t t = a.token0; t < a.token1; t += kTokenBlock) {
    const std::int64_t left = a.token1 - t;
    attention_heads<S, S::kHeads>(a, 0, t, left < kTokenBlock ? left : kTokenBlock);
  }
}

}  // namespace roofcast::detail
