#include "model/attention/mla_sparse.hpp"

#include <algorithm>

#include "model/attention/index_scores.hpp"

namespace roofcast {

/// Indexer: queries from the query latent (or from the hidden state without one), one key and one
/// weight per head from the hidden state, and a layer norm (weight and bias) on the key.
MixerParameters SparseLatentAttention::parameters(double hidden_dim) const {
  const auto heads = static_cast<double>(index_n_heads);
  const auto dim = static_cast<double>(index_head_dim);
  const double query_width =
      shape.q_lora_rank > 0 ? static_cast<double>(shape.q_lora_rank) : hidden_dim;
  MixerParameters p = roofcast::parameters(shape, hidden_dim);
  if (index_owner != KvOwner::self) return p;
  p.matrices += query_width * heads * dim + hidden_dim * (dim + heads);
  p.vectors += 2.0 * dim;
  return p;
}

void SparseLatentAttention::append_indexer(OperatorBuilder& b) const {
  const StepShape& step = b.step();
  const auto heads = static_cast<double>(index_n_heads);
  const auto dim = static_cast<double>(index_head_dim);
  const double query_width =
      shape.q_lora_rank > 0 ? static_cast<double>(shape.q_lora_rank) : b.hidden_dim();
  b.gemm("index_q_proj", Component::attention, heads * dim, query_width);
  b.gemm("index_k_proj", Component::attention, dim + heads, b.hidden_dim(), 2.0 * dim);
  append_index_scores({.heads = heads,
                       .head_dim = dim,
                       .keys_read = step.context,
                       .pairs = causal_pairs(step.context, step.query_len),
                       .keys_added = step.query_len},
                      b);
}

void SparseLatentAttention::append_operators(OperatorBuilder& b) const {
  const StepShape& step = b.step();
  const auto topk = static_cast<double>(index_topk);
  append_mla_inputs(shape, b);
  if (index_owner == KvOwner::self) append_indexer(b);
  // Each query gathers its own top-k; many queries of a pass cover the whole context.
  const double latents = std::min(step.context, topk * step.query_len);
  const double pairs = windowed_pairs(step.context, step.query_len, topk);
  if (step.context + step.query_len <= topk)
    append_mla_attention(shape, latents, pairs, b);
  else
    append_mla_absorbed_attention(shape, latents, pairs, b);
}

}  // namespace roofcast
