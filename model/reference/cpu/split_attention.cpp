#include "model/reference/cpu/split_attention.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {
namespace {

std::int64_t steps_of(std::int64_t tokens) { return (tokens + kTokenStep - 1) / kTokenStep; }

/// Sum of the softmax weights of head `h`, relative to its maximum; a sink takes its share here. A
/// sink far above all scores overflows to infinity, and leaves an output of zero as it should.
float weight_sum(const AttentionTask& task, const AttentionPart& part, std::int64_t h) {
  const auto at = static_cast<std::size_t>(h);
  if (task.sinks == nullptr) return part.sum[at];
  const Bf16 sink = task.sinks[part.item % task.n_kv_heads * task.group + h];
  return part.sum[at] + std::exp(bf16_to_float(sink) - part.max[at]);
}

float sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }

float query_scale(const AttentionTask& task) {
  return task.scale > 0.0F ? task.scale : 1.0F / std::sqrt(static_cast<float>(task.head_dim));
}

void store_output(const AttentionTask& task, const AttentionPart& part) {
  // Items are sequence-major and groups of heads adjacent, so an item's outputs are adjacent too.
  Bf16* const out = task.out + part.item * task.group * task.value_dim;
  const Bf16* const gate = task.gate == nullptr
                               ? nullptr
                               : task.gate + part.item / task.n_kv_heads * task.q_stride +
                                     part.item % task.n_kv_heads * task.group * task.value_dim;
  for (std::int64_t h = 0; h < task.group; ++h) {
    const float scale = task.value_scale / weight_sum(task, part, h);
    for (std::int64_t d = h * task.value_dim; d < (h + 1) * task.value_dim; ++d) {
      const float open = gate == nullptr ? 1.0F : sigmoid(bf16_to_float(gate[d]));
      out[d] = float_to_bf16(part.out[static_cast<std::size_t>(d)] * scale * open);
    }
  }
}

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

void merge_part(const AttentionPart& other, std::int64_t value_dim, AttentionPart& part) {
  for (std::size_t h = 0; h < part.max.size(); ++h) {
    const float top = std::max(part.max[h], other.max[h]);
    const float own_weight = std::exp(part.max[h] - top);
    const float other_weight = std::exp(other.max[h] - top);
    part.max[h] = top;
    part.sum[h] = part.sum[h] * own_weight + other.sum[h] * other_weight;
    const std::size_t first = h * static_cast<std::size_t>(value_dim);
    for (std::size_t i = first; i < first + static_cast<std::size_t>(value_dim); ++i)
      part.out[i] = part.out[i] * own_weight + other.out[i] * other_weight;
  }
}

SplitAttention::SplitAttention(int threads, std::int64_t group, std::int64_t value_dim) {
  AttentionPart empty;
  empty.max.resize(static_cast<std::size_t>(group));
  empty.sum.resize(empty.max.size());
  empty.out.resize(static_cast<std::size_t>(group * value_dim));
  parts_.assign(static_cast<std::size_t>(threads), Parts{empty, empty, empty});
}

AttentionReads SplitAttention::run(const AttentionTask& task, const Kernels& kernels,
                                   ThreadPool& pool, int thread) {
  const std::int64_t items = task.sequences * task.n_kv_heads;
  Parts& own = parts_[static_cast<std::size_t>(thread)];
  own.head.item = own.tail.item = -1;
  AttentionReads reads;
  for (const AttentionPiece& piece : attention_pieces(items, task.tokens, thread, pool.size())) {
    run_piece(task, kernels, thread, piece);
    reads.tokens += piece.token1 - piece.token0;
    ++(piece.first ? reads.items_started : reads.items_joined);
  }
  if (!splits_items(items, task.tokens, pool.size())) return reads;
  pool.barrier();
  merge(task, thread);
  return reads;
}

void SplitAttention::run_piece(const AttentionTask& task, const Kernels& kernels, int thread,
                               const AttentionPiece& piece) {
  Parts& own = parts_[static_cast<std::size_t>(thread)];
  AttentionPart& part = piece.whole() ? own.whole : (piece.first ? own.head : own.tail);
  part.item = piece.item;
  part.last = piece.last;
  const std::int64_t sequence = piece.item / task.n_kv_heads;
  const std::int64_t kv_head = piece.item % task.n_kv_heads;
  kernels.attend({.q = task.q + sequence * task.q_stride + kv_head * task.group * task.head_dim,
                  .group = task.group,
                  .head_dim = task.head_dim,
                  .value_dim = task.value_dim,
                  .key_code = task.key_code,
                  .value_code = task.value_code,
                  .keys = task.keys(piece.item),
                  .values = task.values(piece.item),
                  .pages = task.pages ? task.pages(sequence) : nullptr,
                  .page_tokens = task.page_tokens,
                  .token0 = piece.token0,
                  .token1 = piece.token1,
                  .scale = task.key_scale * query_scale(task),
                  .max = part.max.data(),
                  .sum = part.sum.data(),
                  .out = part.out.data()});
  if (piece.whole()) store_output(task, part);
}

void SplitAttention::merge(const AttentionTask& task, int thread) {
  AttentionPart& head = parts_[static_cast<std::size_t>(thread)].head;
  if (head.item < 0) return;
  for (auto next = static_cast<std::size_t>(thread) + 1; next < parts_.size(); ++next) {
    const AttentionPart& tail = parts_[next].tail;
    if (tail.item != head.item) continue;
    merge_part(tail, task.value_dim, head);
    if (tail.last) break;
  }
  store_output(task, head);
}

}  // namespace roofcast
