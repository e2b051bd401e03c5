#include "model/attention/gqa_sparse.hpp"

#include <algorithm>
#include <cmath>

#include "model/attention/index_scores.hpp"

namespace roofcast {
namespace {

/// Tokens that one query sees when `before` tokens, itself included, end at it: all of them while
/// they fit the budget, then full blocks and, with a local block, the started one.
double seen(const SparseGroupedAttention& a, double before) {
  const auto block = static_cast<double>(a.block_size);
  const double budget = static_cast<double>(a.topk_blocks) * block;
  if (before <= budget || a.local_blocks == 0) return std::min(before, budget);
  const double started = std::fmod(before, block);
  return budget - (started > 0.0 ? block - started : 0.0);
}

/// Sum of `seen` over the first n queries of a sequence.
double pairs_upto(const SparseGroupedAttention& a, double n) {
  const auto block = static_cast<double>(a.block_size);
  const double budget = static_cast<double>(a.topk_blocks) * block;
  const double dense = std::min(n, budget);
  const double tail = n - dense;
  const double first = dense * (dense + 1.0) / 2.0;
  if (a.local_blocks == 0) return first + tail * budget;
  const double whole = std::floor(tail / block);
  const double rest = tail - whole * block;
  return first + tail * (budget - block) + whole * block * (block + 1.0) / 2.0 +
         rest * (rest + 1.0) / 2.0;
}

}  // namespace

/// Index queries, one index key, and a norm on each.
MixerParameters SparseGroupedAttention::parameters(double hidden_dim) const {
  const auto dim = static_cast<double>(index_head_dim);
  MixerParameters p = roofcast::parameters(shape, hidden_dim);
  p.matrices += hidden_dim * (static_cast<double>(index_n_heads) + 1.0) * dim;
  p.vectors += 2.0 * dim;
  return p;
}

CacheElements SparseGroupedAttention::cache(double context) const {
  CacheElements per_token = stored_per_token(shape);
  per_token.indexer = static_cast<double>(index_head_dim);
  return per_token * context;
}

void SparseGroupedAttention::append_operators(OperatorBuilder& b) const {
  const StepShape& step = b.step();
  const auto dim = static_cast<double>(index_head_dim);
  const double ranks = kv_head_shards(shape, b.tp()).kv;
  const double index_heads = shard(static_cast<double>(index_n_heads), ranks);
  append_qkv(shape, b);
  b.gemm("index_qk_proj", Component::attention, (index_heads + 1.0) * dim, b.hidden_dim(),
         2.0 * dim);
  append_index_scores({.heads = index_heads,
                       .head_dim = dim,
                       .keys_read = step.context,
                       .pairs = causal_pairs(step.context, step.query_len),
                       .keys_added = step.query_len,
                       .scores = index_heads / static_cast<double>(block_size)},
                      b);
  // A query's own token is new, not read. Many queries of a pass cover the whole context.
  const double own = local_blocks > 0 ? 1.0 : 0.0;
  const double by_one = seen(*this, step.context + 1.0) - own;
  const double tokens_read = std::min(step.context, by_one * step.query_len);
  const double pairs =
      pairs_upto(*this, step.context + step.query_len) - pairs_upto(*this, step.context);
  append_attention_and_output(shape, tokens_read, pairs, b);
}

}  // namespace roofcast
