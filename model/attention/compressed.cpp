#include "model/attention/compressed.hpp"

#include <algorithm>

#include "model/attention/index_scores.hpp"

namespace roofcast {
namespace {

/// Windows that an entry pools: the one before too where an indexer chooses among entries.
double overlap(const CompressedAttention& a) { return a.has_indexer() ? 2.0 : 1.0; }

double entries(const CompressedAttention& a, double context) {
  return a.compress_ratio > 0 ? context / static_cast<double>(a.compress_ratio) : 0.0;
}

double query_width(const CompressedAttention& a) {
  return static_cast<double>(a.n_heads * a.head_dim);
}

/// A pooling of vectors of `dim` elements: value and gate projections, one bias per place in the
/// window, a norm. Overlapping windows need two series of each.
MixerParameters pooling_parameters(const CompressedAttention& a, double dim, double hidden_dim) {
  const double width = overlap(a) * dim;
  return {.matrices = 2.0 * hidden_dim * width,
          .vectors = static_cast<double>(a.compress_ratio) * width + dim};
}

/// Value and gate of every token of the open windows.
double pooling_state(const CompressedAttention& a, double dim) {
  return 2.0 * overlap(a) * static_cast<double>(a.compress_ratio) * overlap(a) * dim;
}

/// Sum over queries at positions context .. context + query_len - 1 of min(entries seen, most).
double entry_pairs(const CompressedAttention& a, double context, double query_len, double most) {
  const auto ratio = static_cast<double>(a.compress_ratio);
  return windowed_pairs(context, query_len, most * ratio) / ratio;
}

void append_inputs(const CompressedAttention& a, OperatorBuilder& b) {
  const auto rank = static_cast<double>(a.q_lora_rank);
  const auto dim = static_cast<double>(a.head_dim);
  b.gemm("qkv_down_proj", Component::attention, rank + dim, b.hidden_dim(), rank + dim);
  const double queries = shard(query_width(a), b.tp());
  b.gemm("q_up_proj", Component::attention, queries, rank);
  Operator& rope = b.elementwise("rope_kv_append", b.tokens() * (2.0 * (rank + queries) + dim));
  rope.bytes.kv_write = {b.tokens() * dim * b.formats()[Component::k].bytes_per_element()};
}

/// Projects each token, keeps it in the open window, and pools a window when it closes. The mean
/// traffic per token: one row of value and gate written, and as many read as windows overlap.
void append_pooling(const CompressedAttention& a, std::string_view projection,
                    std::string_view name, double dim, Component stored, OperatorBuilder& b) {
  const double width = overlap(a) * dim;
  b.gemm(projection, Component::attention, 2.0 * width, b.hidden_dim());
  const double tokens = b.tokens();
  Operator& pool = b.append(name, OperatorKind::state);
  pool.shape.sequences = b.step().sequences;
  pool.shape.m = tokens;
  pool.bytes.weights = {(static_cast<double>(a.compress_ratio) * width + dim) *
                        b.activation_bytes()};
  pool.bytes.state = {tokens * 2.0 * width * (1.0 + overlap(a)) *
                      b.formats()[Component::state].bytes_per_element()};
  pool.bytes.activations = {tokens * 2.0 * width * b.activation_bytes()};
  pool.bytes.kv_write = {entries(a, tokens) * dim * b.formats()[stored].bytes_per_element()};
}

void append_indexer(const CompressedAttention& a, OperatorBuilder& b) {
  const StepShape& step = b.step();
  const auto heads = static_cast<double>(a.index_n_heads);
  const auto dim = static_cast<double>(a.index_head_dim);
  append_pooling(a, "index_pool_proj", "index_pool", dim, Component::indexer, b);
  b.gemm("index_q_proj", Component::attention, heads * dim, static_cast<double>(a.q_lora_rank));
  b.gemm("index_weights_proj", Component::attention, heads, b.hidden_dim());
  const double all = entries(a, step.context + step.query_len);
  append_index_scores({.heads = heads,
                       .head_dim = dim,
                       .keys_read = entries(a, step.context),
                       .pairs = entry_pairs(a, step.context, step.query_len, all)},
                      b);
}

}  // namespace

MixerParameters CompressedAttention::parameters(double hidden_dim) const {
  const auto q_rank = static_cast<double>(q_lora_rank);
  const auto dim = static_cast<double>(head_dim);
  const auto o_rank = static_cast<double>(o_lora_rank);
  MixerParameters p;
  p.matrices = hidden_dim * (q_rank + dim) + q_rank * query_width(*this) +
               query_width(*this) * o_rank + static_cast<double>(o_groups) * o_rank * hidden_dim;
  p.vectors = q_rank + dim + static_cast<double>(n_heads);  // two norms and the sinks
  const auto add = [&p](const MixerParameters& part) {
    p.matrices += part.matrices;
    p.vectors += part.vectors;
  };
  if (compress_ratio > 0) add(pooling_parameters(*this, dim, hidden_dim));
  if (!has_indexer()) return p;
  const auto index_heads = static_cast<double>(index_n_heads);
  const auto index_dim = static_cast<double>(index_head_dim);
  add(pooling_parameters(*this, index_dim, hidden_dim));
  p.matrices += q_rank * index_heads * index_dim + hidden_dim * index_heads;
  return p;
}

CacheElements CompressedAttention::cache(double context) const {
  const auto dim = static_cast<double>(head_dim);
  const auto index_dim = static_cast<double>(index_head_dim);
  CacheElements e;
  e.k = dim * (std::min(context, static_cast<double>(window)) + entries(*this, context));
  if (compress_ratio > 0) e.state = pooling_state(*this, dim);
  if (has_indexer()) {
    e.indexer = index_dim * entries(*this, context);
    e.state += pooling_state(*this, index_dim);
  }
  return e;
}

void CompressedAttention::append_operators(OperatorBuilder& b) const {
  const StepShape& step = b.step();
  const auto dim = static_cast<double>(head_dim);
  append_inputs(*this, b);
  double tokens_read = std::min(step.context, static_cast<double>(window));
  double pairs = windowed_pairs(step.context, step.query_len, static_cast<double>(window));
  if (compress_ratio > 0) {
    append_pooling(*this, "kv_pool_proj", "kv_pool", dim, Component::k, b);
    if (has_indexer()) append_indexer(*this, b);
    const double all = entries(*this, step.context + step.query_len);
    const double most = has_indexer() ? std::min(all, static_cast<double>(index_topk)) : all;
    tokens_read += std::min(entries(*this, step.context), most * step.query_len);
    pairs += entry_pairs(*this, step.context, step.query_len, most);
  }
  const double heads = shard(static_cast<double>(n_heads), b.tp());
  Operator& op = b.append("compressed_attention", OperatorKind::mla);
  op.shape.sequences = step.sequences;
  op.shape.m = b.tokens();
  op.shape.heads = heads;
  op.shape.kv_heads = 1.0;
  op.shape.tokens_read = tokens_read;
  op.shape.k = dim;
  op.format = b.formats()[Component::k].format;
  op.flops = {2.0 * heads * 2.0 * dim * pairs * step.sequences};
  op.bytes.kv_read = {step.sequences * tokens_read * dim *
                      b.formats()[Component::k].bytes_per_element()};
  op.bytes.weights = {heads * b.activation_bytes()};  // sinks
  op.bytes.activations = {b.tokens() * heads * 2.0 * dim * b.activation_bytes()};

  // Each group of heads has a projection of its own, so a rank holds its share of all groups.
  const double o_width = shard(static_cast<double>(o_groups * o_lora_rank), b.tp());
  const double group_width = query_width(*this) / static_cast<double>(o_groups);
  Operator& down = b.gemm("attn_out_down_proj", Component::attention, o_width, group_width);
  down.bytes.activations = {b.tokens() * (o_width + heads * dim) * b.activation_bytes()};
  b.gemm("attn_out_proj", Component::attention, b.hidden_dim(), o_width);
  b.all_reduce("attn_all_reduce");
}

}  // namespace roofcast
