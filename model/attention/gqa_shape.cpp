#include "model/attention/gqa_shape.hpp"

#include <algorithm>

namespace roofcast {
namespace {

double query_width(const GqaShape& s) { return static_cast<double>(s.n_heads * s.head_dim); }
double output_width(const GqaShape& s) { return static_cast<double>(s.n_heads) * s.value_dim(); }
double key_width(const GqaShape& s) { return static_cast<double>(s.n_kv_heads * s.head_dim); }
double value_width(const GqaShape& s) { return static_cast<double>(s.n_kv_heads) * s.value_dim(); }

/// Output rows that the K and V matrices have; the layer may own neither or only K's.
double kv_rows(const GqaShape& s) {
  if (s.kv_owner == KvOwner::earlier_layer) return 0.0;
  return key_width(s) + (s.shared_kv_weights ? 0.0 : value_width(s));
}

double gate_rows(const GqaShape& s) {
  if (s.output_gate == OutputGate::elementwise) return output_width(s);
  return s.output_gate == OutputGate::headwise ? static_cast<double>(s.n_heads) : 0.0;
}

double qk_norm_elements(const GqaShape& s) {
  const bool own_keys = s.kv_owner == KvOwner::self;
  if (s.qk_norm == QkNorm::head) return static_cast<double>(s.head_dim) * (own_keys ? 2.0 : 1.0);
  if (s.qk_norm == QkNorm::full) return query_width(s) + (own_keys ? key_width(s) : 0.0);
  return 0.0;
}

/// Key-value heads split over at most as many ranks as there are heads; beyond that they repeat.
double kv_ranks(const GqaShape& s, double tp) {
  return std::min(tp, static_cast<double>(s.n_kv_heads));
}

}  // namespace

MixerParameters parameters(const GqaShape& s, double hidden_dim) {
  const double in_rows = query_width(s) + kv_rows(s) + gate_rows(s);
  MixerParameters p;
  p.matrices = hidden_dim * (in_rows + output_width(s));
  p.vectors = qk_norm_elements(s) + (s.sinks ? static_cast<double>(s.n_heads) : 0.0);
  if (s.qkv_bias) p.vectors += query_width(s) + kv_rows(s) + gate_rows(s);
  if (s.o_bias) p.vectors += hidden_dim;
  return p;
}

CacheElements stored_per_token(const GqaShape& s) {
  if (s.kv_owner == KvOwner::earlier_layer) return {};
  return {.k = key_width(s), .v = value_width(s)};
}

void append_qkv(const GqaShape& s, OperatorBuilder& b) {
  const double tp = b.tp();
  const double q_rows = shard(query_width(s) + gate_rows(s), tp);
  const double k_rows = shard(kv_rows(s), kv_ranks(s, tp));
  const double vectors = qk_norm_elements(s) + (s.qkv_bias ? q_rows + k_rows : 0.0);
  b.gemm("qkv_proj", Component::attention, q_rows + k_rows, b.hidden_dim(), vectors);

  // Rotary embedding (and norm) reads and writes Q and K; K and V go to the cache.
  const CacheElements stored = stored_per_token(s);
  const double ranks = kv_ranks(s, tp);
  const double q = shard(query_width(s), tp);
  Operator& rope =
      b.elementwise("rope_kv_append", b.tokens() * (2.0 * q + (stored.k + stored.v) / ranks));
  const Formats& f = b.formats();
  rope.bytes.kv_write = {b.tokens() / ranks *
                         (stored.k * f[Component::k].bytes_per_element() +
                          stored.v * f[Component::v].bytes_per_element())};
}

void append_attention_and_output(const GqaShape& s, double tokens_read, double pairs,
                                 OperatorBuilder& b) {
  const double tp = b.tp();
  const double kv_heads = shard(static_cast<double>(s.n_kv_heads), kv_ranks(s, tp));
  const double heads = shard(static_cast<double>(s.n_heads), tp);
  const auto head_dim = static_cast<double>(s.head_dim);
  const Formats& f = b.formats();

  Operator& op = b.append("attention", OperatorKind::attention);
  op.shape.sequences = b.step().sequences;
  op.shape.m = b.tokens();
  op.shape.heads = heads;
  op.shape.kv_heads = kv_heads;
  op.shape.tokens_read = tokens_read;
  op.shape.k = head_dim;
  op.format = f[Component::k].format;
  op.flops = {2.0 * heads * (head_dim + s.value_dim()) * pairs * b.step().sequences};
  op.bytes.kv_read = {b.step().sequences * tokens_read * kv_heads *
                      (head_dim * f[Component::k].bytes_per_element() +
                       s.value_dim() * f[Component::v].bytes_per_element())};
  // Queries and outputs, and the gate, which is applied where the outputs are stored.
  op.bytes.activations = {b.tokens() *
                          (heads * (head_dim + s.value_dim()) + shard(gate_rows(s), tp)) *
                          b.activation_bytes()};
  if (s.sinks) op.bytes.weights = {heads * b.activation_bytes()};

  b.gemm("attn_out_proj", Component::attention, b.hidden_dim(), shard(output_width(s), tp),
         s.o_bias ? b.hidden_dim() : 0.0);
  b.all_reduce("attn_all_reduce");
}

void append_gqa(const GqaShape& s, double tokens_read, double pairs, OperatorBuilder& b) {
  append_qkv(s, b);
  append_attention_and_output(s, tokens_read, pairs, b);
}

}  // namespace roofcast
