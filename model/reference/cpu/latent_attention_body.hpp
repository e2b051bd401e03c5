#pragma once

#include "model/reference/cpu/attention_body.hpp"
#include "model/reference/cpu/gemm_body.hpp"

// See gemm_body.hpp for how these templates are used.
namespace roofcast::detail {

/// Tokens of a block: its latents, read from memory by the first heads, stay cached for the others.
inline constexpr std::int64_t kLatentTokens = 64;

/// Latents that a later block reads: fetched to the second-level cache, a line at a time, while the
/// first heads mix this one. Heads that only found the latents cached would leave memory idle.
struct LatentsAhead {
  const Bf16* next = nullptr;
  const Bf16* end = nullptr;
};

/// sums (tokens, 16 R) = products of the queries of R tiles of heads with every row. To a product
/// of matrices heads are rows and tokens are columns, so that a lane is a head and no sum has to be
/// added up across lanes.
template <typename S, int R>
void tile_scores(const Bf16* q, const Bf16* rows, std::int64_t width, std::int64_t tokens,
                 float* sums) {
  constexpr int kColumns = S::kGemmColumns[R];
  for (std::int64_t i = 0; i < tokens * R * kRowTile; ++i) sums[i] = 0.0F;
  for (std::int64_t t = 0; t < tokens; t += kColumns)
    gemm_columns<S, Bf16Weights<S>, R, kColumns>(
        tokens - t, reinterpret_cast<const std::byte*>(q),
        kRowTile * width * static_cast<std::int64_t>(sizeof(Bf16)),
        ColumnRows{rows + t * width, width}, 0, width / 2, sums + t * R * kRowTile);
}

/// Softmax step of 16 heads, a lane each: turns scores (tokens, stride) into bf16 weights
/// (tokens / 2, 16, 2) against the new running maxima and adds to the running sums. `shrink` are
/// the factors by which earlier sums and outputs shrink.
template <typename S>
void tile_softmax(const float* scores, std::int64_t stride, std::int64_t tokens, float scale,
                  float* max, float* sum, Bf16* probs, float* shrink) {
  for (std::int64_t lane = 0; lane < kRowTile; lane += S::kLanes) {
    const float* const own = scores + lane;
    typename S::Floats top = S::load(own);
    for (std::int64_t t = 1; t < tokens; ++t) top = S::max(top, S::load(own + t * stride));
    const typename S::Floats old_max = S::load(max + lane);
    const typename S::Floats new_max = S::max(old_max, S::mul(top, S::set(scale)));
    const typename S::Floats factor = S::exp(S::sub(old_max, new_max));
    const typename S::Floats offset = S::sub(S::zero(), new_max);
    const auto weight = [&](std::int64_t t) {
      return S::exp(S::fma(S::load(own + t * stride), S::set(scale), offset));
    };
    typename S::Floats total = S::mul(S::load(sum + lane), factor);
    for (std::int64_t t = 0; t < tokens; t += 2) {
      const typename S::Floats first = weight(t);
      const typename S::Floats second = t + 1 < tokens ? weight(t + 1) : S::zero();
      total = S::add(total, S::add(first, second));
      S::store_pairs(probs + t * kRowTile + 2 * lane, first, second);
    }
    S::store(shrink + lane, factor);
    S::store(max + lane, new_max);
    S::store(sum + lane, total);
  }
}

/// out (H heads, D pairs of vectors) = out * shrink + weights x rows. Two rows interleaved are the
/// pairs of tokens that a dot product adds.
template <typename S, int H, int D>
void latent_mix(const LatentAttentionArgs& a, const Bf16* probs, const Bf16* rows,
                std::int64_t tokens, const float* shrink, float* out, LatentsAhead& ahead) {
  constexpr std::int64_t kLine = 32;  // elements
  constexpr int kVectors = 2 * D;
  typename S::Floats acc[H][kVectors];
#pragma GCC unroll 8
  for (int h = 0; h < H; ++h) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      acc[h][v] = S::mul(S::load(out + h * a.value_dim + v * S::kLanes), S::set(shrink[h]));
  }
  const Bf16* next = ahead.next;
  for (std::int64_t t = 0; t < tokens; t += 2) {
    if (next < ahead.end) {
      __builtin_prefetch(next, 0, 2);
      next += kLine;
    }
    // The weight of a second token that is not there is zero.
    const Bf16* const first = rows + t * a.latent_dim;
    const Bf16* const second = t + 1 < tokens ? first + a.latent_dim : first;
    typename S::Pairs values[kVectors];
#pragma GCC unroll 8
    for (int d = 0; d < D; ++d)
      S::load_interleaved(first + d * 2 * S::kLanes, second + d * 2 * S::kLanes, values[2 * d],
                          values[2 * d + 1]);
#pragma GCC unroll 8
    for (int h = 0; h < H; ++h) {
      const typename S::Pairs weight = S::set_pair(probs + t * kRowTile + std::int64_t{2} * h);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) acc[h][v] = S::dot(acc[h][v], values[v], weight);
    }
  }
  ahead.next = next;
#pragma GCC unroll 8
  for (int h = 0; h < H; ++h) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) S::store(out + h * a.value_dim + v * S::kLanes, acc[h][v]);
  }
}

/// The value's width of H heads from element d on, D pairs of vectors at a time and the rest in
/// narrower steps.
template <typename S, int H, int D>
void latent_mix_width(const LatentAttentionArgs& a, const Bf16* probs, const Bf16* rows,
                      std::int64_t tokens, const float* shrink, float* out, std::int64_t d,
                      LatentsAhead& ahead) {
  for (; d + D * 2 * S::kLanes <= a.value_dim; d += D * 2 * S::kLanes)
    latent_mix<S, H, D>(a, probs, rows + d, tokens, shrink, out + d, ahead);
  if constexpr (D > 1) latent_mix_width<S, H, D / 2>(a, probs, rows, tokens, shrink, out, d, ahead);
}

/// `left` heads, the first of which is `head`, M at a time.
template <typename S, int M>
void latent_mix_heads(const LatentAttentionArgs& a, std::int64_t head, std::int64_t left,
                      const Bf16* probs, const Bf16* rows, std::int64_t tokens, const float* shrink,
                      LatentsAhead& ahead) {
  for (; left >= M; left -= M, head += M, probs += std::int64_t{2} * M, shrink += M)
    latent_mix_width<S, M, S::kLatentVectors>(a, probs, rows, tokens, shrink,
                                              a.out + head * a.value_dim, 0, ahead);
  if constexpr (M > 1)
    latent_mix_heads<S, M - 1>(a, head, left, probs, rows, tokens, shrink, ahead);
}

/// One block of tokens for R tiles of heads, of which the first is `tile`.
template <typename S, int R>
void latent_block(const LatentAttentionArgs& a, std::int64_t tile, const Bf16* rows,
                  std::int64_t tokens, LatentsAhead& ahead) {
  alignas(64) float scores[kLatentTokens * R * kRowTile];
  alignas(64) Bf16 probs[kLatentTokens * kRowTile];
  alignas(64) float shrink[kRowTile];
  tile_scores<S, R>(a.q + tile * kRowTile * a.latent_dim, rows, a.latent_dim, tokens, scores);
  for (int r = 0; r < R; ++r) {
    const std::int64_t head = (tile + r) * kRowTile;
    tile_softmax<S>(scores + r * kRowTile, R * kRowTile, tokens, a.scale, a.max + head,
                    a.sum + head, probs, shrink);
    const std::int64_t left = a.heads - head;
    latent_mix_heads<S, S::kLatentHeads>(a, head, left < kRowTile ? left : kRowTile, probs, rows,
                                         tokens, shrink, ahead);
  }
}

/// Tiles of heads from `tile` on, at most R at a time.
template <typename S, int R>
void latent_tiles(const LatentAttentionArgs& a, std::int64_t tile, const Bf16* rows,
                  std::int64_t tokens, LatentsAhead& ahead) {
  const std::int64_t tiles = (a.heads + kRowTile - 1) / kRowTile;
  for (; tile + R <= tiles; tile += R) latent_block<S, R>(a, tile, rows, tokens, ahead);
  if constexpr (R > 1) latent_tiles<S, R - 1>(a, tile, rows, tokens, ahead);
}

template <typename S>
void attend_latents(const LatentAttentionArgs& a) {
  for (std::int64_t t = 0; t < a.tokens; t += kLatentTokens) {
    const std::int64_t left = a.tokens - t;
    const std::int64_t tokens = left < kLatentTokens ? left : kLatentTokens;
    const std::int64_t later = left - tokens < kLatentTokens ? left - tokens : kLatentTokens;
    const Bf16* const rows = a.latents + t * a.latent_dim;
    const Bf16* const next = rows + tokens * a.latent_dim;
    LatentsAhead ahead{next, next + later * a.latent_dim};
    latent_tiles<S, S::kMaxRowTiles>(a, 0, rows, tokens, ahead);
  }
}

/// Adds to `scores` what R tiles of heads give each of a block's tokens.
template <typename S, int R>
void index_tiles(const IndexScoreArgs& a, std::int64_t tile, const Bf16* keys, std::int64_t tokens,
                 float* scores) {
  const std::int64_t tiles = (a.heads + kRowTile - 1) / kRowTile;
  alignas(64) float products[kLatentTokens * R * kRowTile];
  for (; tile + R <= tiles; tile += R) {
    tile_scores<S, R>(a.q + tile * kRowTile * a.head_dim, keys, a.head_dim, tokens, products);
    for (std::int64_t t = 0; t < tokens; ++t) {
      typename S::Floats sum = S::zero();
      for (std::int64_t lane = 0; lane < R * kRowTile; lane += S::kLanes) {
        const typename S::Floats product = S::load(products + t * R * kRowTile + lane);
        sum = S::fma(S::max(product, S::zero()), S::load(a.weights + tile * kRowTile + lane), sum);
      }
      scores[t] += S::horizontal_sum(sum);
    }
  }
  if constexpr (R > 1) index_tiles<S, R - 1>(a, tile, keys, tokens, scores);
}

template <typename S>
void score_index(const IndexScoreArgs& a) {
  for (std::int64_t t = 0; t < a.tokens; t += kLatentTokens) {
    const std::int64_t left = a.tokens - t;
    const std::int64_t tokens = left < kLatentTokens ? left : kLatentTokens;
    for (std::int64_t i = t; i < t + tokens; ++i) a.scores[i] = 0.0F;
    index_tiles<S, S::kMaxRowTiles>(a, 0, a.keys + t * a.head_dim, tokens, a.scores + t);
  }
}

}  // namespace roofcast::detail
