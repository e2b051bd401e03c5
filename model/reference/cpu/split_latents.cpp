#include "model/reference/cpu/split_latents.hpp"

#include <algorithm>

#include "model/reference/cpu/pack_heads.hpp"

namespace roofcast {
namespace {

/// Chosen tokens that are copied together before heads pass over them: few enough to stay cached.
constexpr std::int64_t kGatheredTokens = 64;

void start(AttentionPart& part) {
  std::fill(part.max.begin(), part.max.end(), kNoScore);
  std::fill(part.sum.begin(), part.sum.end(), 0.0F);
  std::fill(part.out.begin(), part.out.end(), 0.0F);
}

void store_output(const LatentTask& task, const AttentionPart& part) {
  Bf16* const out = task.out + part.item * task.heads * task.value_dim;
  for (std::int64_t h = 0; h < task.heads; ++h) {
    const float scale = 1.0F / part.sum[static_cast<std::size_t>(h)];
    for (std::int64_t d = h * task.value_dim; d < (h + 1) * task.value_dim; ++d)
      out[d] = float_to_bf16(part.out[static_cast<std::size_t>(d)] * scale);
  }
}

}  // namespace

SplitLatents::SplitLatents(int threads, std::int64_t heads, std::int64_t latent_dim,
                           std::int64_t value_dim) {
  const auto tiled = static_cast<std::size_t>(tiled_heads(heads));
  AttentionPart empty;
  empty.max.resize(tiled);
  empty.sum.resize(tiled);
  empty.out.resize(tiled * static_cast<std::size_t>(value_dim));
  const Own own{
      .whole = empty,
      .head = empty,
      .tail = empty,
      .q = std::vector<Bf16>(tiled * static_cast<std::size_t>(latent_dim)),
      .gathered = std::vector<Bf16>(static_cast<std::size_t>(kGatheredTokens * latent_dim))};
  own_.assign(static_cast<std::size_t>(threads), own);
}

AttentionReads SplitLatents::run(const LatentTask& task, const Kernels& kernels, ThreadPool& pool,
                                 int thread) {
  Own& own = own_[static_cast<std::size_t>(thread)];
  own.head.item = own.tail.item = -1;
  AttentionReads reads;
  for (const AttentionPiece& piece :
       attention_pieces(task.sequences, task.tokens, thread, pool.size())) {
    run_piece(task, kernels, own, piece);
    reads.tokens += piece.token1 - piece.token0;
    ++(piece.first ? reads.items_started : reads.items_joined);
  }
  if (!splits_items(task.sequences, task.tokens, pool.size())) return reads;
  pool.barrier();
  merge(task, thread);
  return reads;
}

void SplitLatents::run_piece(const LatentTask& task, const Kernels& kernels, Own& own,
                             const AttentionPiece& piece) const {
  AttentionPart& part = piece.whole() ? own.whole : (piece.first ? own.head : own.tail);
  part.item = piece.item;
  part.last = piece.last;
  start(part);
  pack_heads(task.q + piece.item * task.heads * task.latent_dim, task.heads, task.latent_dim,
             own.q.data());
  LatentAttentionArgs args{.q = own.q.data(),
                           .heads = task.heads,
                           .latent_dim = task.latent_dim,
                           .value_dim = task.value_dim,
                           .scale = task.scale,
                           .max = part.max.data(),
                           .sum = part.sum.data(),
                           .out = part.out.data()};
  const Bf16* const latents = task.latents(piece.item);
  if (task.chosen == nullptr) {
    args.latents = latents + piece.token0 * task.latent_dim;
    args.tokens = piece.token1 - piece.token0;
    kernels.attend_latents(args);
  } else {
    const std::int32_t* const chosen = task.chosen + piece.item * task.tokens;
    args.latents = own.gathered.data();
    for (std::int64_t t = piece.token0; t < piece.token1; t += args.tokens) {
      args.tokens = std::min(kGatheredTokens, piece.token1 - t);
      for (std::int64_t i = 0; i < args.tokens; ++i)
        std::copy_n(latents + chosen[t + i] * task.latent_dim, task.latent_dim,
                    own.gathered.data() + i * task.latent_dim);
      kernels.attend_latents(args);
    }
  }
  if (piece.whole()) store_output(task, part);
}

void SplitLatents::merge(const LatentTask& task, int thread) {
  AttentionPart& head = own_[static_cast<std::size_t>(thread)].head;
  if (head.item < 0) return;
  for (auto next = static_cast<std::size_t>(thread) + 1; next < own_.size(); ++next) {
    const AttentionPart& tail = own_[next].tail;
    if (tail.item != head.item) continue;
    merge_part(tail, task.value_dim, head);
    if (tail.last) break;
  }
  store_output(task, head);
}

}  // namespace roofcast
