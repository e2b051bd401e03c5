#include "model/attention/mla_expanded.hpp"

namespace roofcast {
namespace {

/// Bytes of keys and values of one token on one rank.
Bytes token_bytes(const CacheElements& stored, const Formats& f) {
  return {stored.k * f[Component::k].bytes_per_element() +
          stored.v * f[Component::v].bytes_per_element()};
}

}  // namespace

void ExpandedLatentAttention::append_operators(OperatorBuilder& b) const {
  const StepShape& step = b.step();
  const double heads = shard(static_cast<double>(shape.n_heads), b.tp());
  const auto key_dim = static_cast<double>(shape.qk_nope_head_dim + shape.qk_rope_head_dim);
  const auto value_dim = static_cast<double>(shape.v_head_dim);
  const Bytes per_token = token_bytes(stored_per_token() / cache_shards(b.tp()), b.formats());
  append_mla_projections(shape, b);
  Operator& expand = b.gemm("mla_expand_kv", Component::attention,
                            heads * static_cast<double>(shape.qk_nope_head_dim + shape.v_head_dim),
                            static_cast<double>(shape.kv_lora_rank));
  expand.bytes.kv_write = per_token * b.tokens();

  Operator& op = b.append("attention", OperatorKind::attention);
  op.shape.sequences = step.sequences;
  op.shape.m = b.tokens();
  op.shape.heads = heads;
  op.shape.kv_heads = heads;
  op.shape.tokens_read = step.context;
  op.shape.k = key_dim;
  op.format = b.formats()[Component::k].format;
  op.flops = {2.0 * heads * (key_dim + value_dim) * causal_pairs(step.context, step.query_len) *
              step.sequences};
  op.bytes.kv_read = per_token * (step.sequences * step.context);
  op.bytes.activations = {b.tokens() * heads * (key_dim + value_dim) * b.activation_bytes()};
  append_mla_output(shape, b);
}

}  // namespace roofcast
