#include "model/attention/mla.hpp"

namespace roofcast {
namespace {

double qk_dim(const MlaShape& s) {
  return static_cast<double>(s.qk_nope_head_dim + s.qk_rope_head_dim);
}
double query_width(const MlaShape& s) { return static_cast<double>(s.n_heads) * qk_dim(s); }
double output_width(const MlaShape& s) { return static_cast<double>(s.n_heads * s.v_head_dim); }
double expansion_rows(const MlaShape& s) {
  return static_cast<double>(s.n_heads * (s.qk_nope_head_dim + s.v_head_dim));
}
double gate_rows(const MlaShape& s) {
  if (s.output_gate == OutputGate::elementwise) return output_width(s);
  return s.output_gate == OutputGate::headwise ? static_cast<double>(s.n_heads) : 0.0;
}

/// A projection applied head by head (the absorbed halves of kv_b): reads rows * cols weights per
/// head, once for all tokens.
void append_per_head(std::string_view name, const MlaShape& s, double rows, double cols,
                     OperatorBuilder& b) {
  const double heads = shard(static_cast<double>(s.n_heads), b.tp());
  const double weight_bytes = b.formats()[Component::attention].bytes_per_element();
  Operator& op = b.append(name, OperatorKind::gemm);
  op.shape.m = b.tokens();
  op.shape.n = heads * rows;
  op.shape.k = cols;
  op.flops = {2.0 * b.tokens() * heads * rows * cols};
  op.format = b.formats()[Component::attention].format;
  op.compute = op.format.row().compute;
  op.bytes.weights = {heads * rows * cols * weight_bytes};
  op.bytes.activations = {b.tokens() * heads * (rows + cols) * b.activation_bytes()};
}

void append_absorbed(const MlaShape& s, double tokens_read, double pairs, OperatorBuilder& b) {
  const double heads = shard(static_cast<double>(s.n_heads), b.tp());
  const auto rank = static_cast<double>(s.kv_lora_rank);
  const double latent = s.latent_dim();
  append_per_head("mla_absorb_q", s, rank, static_cast<double>(s.qk_nope_head_dim), b);
  Operator& op = b.append("mla_attention", OperatorKind::mla);
  op.shape.sequences = b.step().sequences;
  op.shape.m = b.tokens();
  op.shape.heads = heads;
  op.shape.kv_heads = 1.0;
  op.shape.tokens_read = tokens_read;
  op.shape.k = latent;
  op.format = b.formats()[Component::k].format;
  op.flops = {2.0 * heads * (latent + rank) * pairs * b.step().sequences};
  op.bytes.kv_read = {b.step().sequences * tokens_read * latent *
                      b.formats()[Component::k].bytes_per_element()};
  op.bytes.activations = {b.tokens() * heads * (latent + rank) * b.activation_bytes()};
  append_per_head("mla_absorb_v", s, static_cast<double>(s.v_head_dim), rank, b);
}

void append_expanded(const MlaShape& s, double tokens_read, double pairs, OperatorBuilder& b) {
  const double heads = shard(static_cast<double>(s.n_heads), b.tp());
  const double rows = shard(expansion_rows(s), b.tp());
  const double expanded = b.step().sequences * tokens_read + b.tokens();
  b.gemm_rows("mla_expand_kv", Component::attention, expanded, rows,
              static_cast<double>(s.kv_lora_rank));
  const double width = qk_dim(s) + static_cast<double>(s.v_head_dim);
  Operator& op = b.append("attention", OperatorKind::attention);
  op.shape.sequences = b.step().sequences;
  op.shape.m = b.tokens();
  op.shape.heads = heads;
  op.shape.kv_heads = heads;
  op.shape.tokens_read = tokens_read;
  op.shape.k = qk_dim(s);
  op.flops = {2.0 * heads * width * pairs * b.step().sequences};
  op.bytes.kv_read = {b.step().sequences * tokens_read * s.latent_dim() *
                      b.formats()[Component::k].bytes_per_element()};
  op.bytes.activations = {(b.tokens() + expanded) * heads * width * b.activation_bytes()};
}

}  // namespace

MixerParameters parameters(const MlaShape& s, double hidden_dim) {
  const auto q_rank = static_cast<double>(s.q_lora_rank);
  const auto kv_rank = static_cast<double>(s.kv_lora_rank);
  MixerParameters p;
  p.matrices = s.q_lora_rank > 0 ? hidden_dim * q_rank + q_rank * query_width(s)
                                 : hidden_dim * query_width(s);
  p.matrices += hidden_dim * (s.latent_dim() + gate_rows(s)) + kv_rank * expansion_rows(s) +
                output_width(s) * hidden_dim;
  p.vectors = q_rank + kv_rank;  // the norms of the two latents
  return p;
}

Operator& append_mla_projections(const MlaShape& s, OperatorBuilder& b) {
  const double queries = shard(query_width(s), b.tp());
  const auto q_rank = static_cast<double>(s.q_lora_rank);
  const double gate = shard(gate_rows(s), b.tp());
  // Both down-projections read the same input and are replicated on every rank.
  if (s.q_lora_rank > 0) {
    b.gemm("mla_down_proj", Component::attention, q_rank + s.latent_dim() + gate, b.hidden_dim(),
           q_rank + static_cast<double>(s.kv_lora_rank));
    b.gemm("mla_q_up_proj", Component::attention, queries, q_rank);
  } else {
    b.gemm("mla_down_proj", Component::attention, queries + s.latent_dim() + gate, b.hidden_dim(),
           static_cast<double>(s.kv_lora_rank));
  }
  const double rope = shard(static_cast<double>(s.n_heads * s.qk_rope_head_dim), b.tp());
  return b.elementwise("rope_kv_append", b.tokens() * (2.0 * (q_rank + rope) + s.latent_dim()));
}

void append_mla_inputs(const MlaShape& s, OperatorBuilder& b) {
  append_mla_projections(s, b).bytes.kv_write = {b.tokens() * s.latent_dim() *
                                                 b.formats()[Component::k].bytes_per_element()};
}

void append_mla_output(const MlaShape& s, OperatorBuilder& b) {
  b.gemm("attn_out_proj", Component::attention, b.hidden_dim(), shard(output_width(s), b.tp()));
  b.all_reduce("attn_all_reduce");
}

void append_mla_attention(const MlaShape& s, double tokens_read, double pairs, OperatorBuilder& b) {
  if (b.step().is_decode()) {
    append_mla_absorbed_attention(s, tokens_read, pairs, b);
    return;
  }
  append_expanded(s, tokens_read, pairs, b);
  append_mla_output(s, b);
}

void append_mla_absorbed_attention(const MlaShape& s, double tokens_read, double pairs,
                                   OperatorBuilder& b) {
  append_absorbed(s, tokens_read, pairs, b);
  append_mla_output(s, b);
}

}  // namespace roofcast
