#include <fmt/format.h>

#include <algorithm>

#include "model/architecture/gguf_blocks.hpp"

namespace roofcast {
namespace {

std::size_t index(int layer) { return static_cast<std::size_t>(layer); }

bool windowed(const GgufContext& c, int layer) { return c.windowed[index(layer)]; }

/// Heads and head sizes of one block; norms, biases and gates are filled in later.
GqaShape head_shape(const GgufContext& c, int layer) {
  const bool window = windowed(c, layer);
  GqaShape shape;
  shape.n_heads = c.heads.n_heads[index(layer)];
  shape.n_kv_heads = c.heads.n_kv_heads[index(layer)];
  shape.head_dim = window ? c.heads.window_head_dim : c.heads.head_dim;
  const std::int64_t v = window ? c.heads.window_v_head_dim : c.heads.v_head_dim;
  shape.v_head_dim = v == shape.head_dim ? 0 : v;
  if (shape.n_heads < 1 || shape.n_kv_heads < 1)
    c.fields.fail(fmt::format("blk.{}", layer),
                  fmt::format("expected attention heads, got {} heads and {} key-value heads",
                              shape.n_heads, shape.n_kv_heads));
  return shape;
}

std::int64_t rows_of(const GgufTensor& tensor) {
  return tensor.dims.size() < 2 ? 1 : tensor.dims[1];
}

std::string heads_text(std::int64_t heads, std::int64_t dim) {
  return fmt::format("{} heads of {}", heads, dim);
}

/// Queries may carry their gate in one matrix of twice the rows (Qwen3-Next).
void read_separate(const GgufContext& c, int layer, GqaShape& shape) {
  const GgufTensor& q = *c.tensors.block(layer, "attn_q.weight");
  const GgufTensor* k = c.tensors.block(layer, "attn_k.weight");
  const GgufTensor* v = c.tensors.block(layer, "attn_v.weight");
  const std::int64_t queries = shape.n_heads * shape.head_dim;
  if (rows_of(q) == 2 * queries)
    shape.output_gate = OutputGate::elementwise;
  else
    expect_rows(c, q, queries, heads_text(shape.n_heads, shape.head_dim));
  if (layer >= c.own_kv_layers) {
    shape.kv_owner = KvOwner::earlier_layer;
    return;
  }
  if (k == nullptr) refuse_block(c, layer, "attention without keys");
  expect_rows(c, *k, shape.n_kv_heads * shape.head_dim,
              heads_text(shape.n_kv_heads, shape.head_dim));
  const auto v_dim = static_cast<std::int64_t>(shape.value_dim());
  if (v == nullptr)
    shape.shared_kv_weights = true;
  else
    expect_rows(c, *v, shape.n_kv_heads * v_dim, heads_text(shape.n_kv_heads, v_dim));
}

void read_fused(const GgufContext& c, int layer, GqaShape& shape) {
  const GgufTensor& qkv = *c.tensors.block(layer, "attn_qkv.weight");
  const auto v_dim = static_cast<std::int64_t>(shape.value_dim());
  const std::int64_t queries = shape.n_heads * shape.head_dim;
  const std::int64_t rows = queries + shape.n_kv_heads * (shape.head_dim + v_dim);
  if (rows_of(qkv) == rows + queries)
    shape.output_gate = OutputGate::elementwise;
  else
    expect_rows(c, qkv, rows,
                fmt::format("{} query and {} key-value heads of {}", shape.n_heads,
                            shape.n_kv_heads, shape.head_dim));
}

QkNorm qk_norm(const GgufContext& c, int layer, const GqaShape& shape) {
  const GgufTensor* norm = c.tensors.block(layer, "attn_q_norm.weight");
  if (norm == nullptr) return QkNorm::none;
  return norm->elements == shape.head_dim ? QkNorm::head : QkNorm::full;
}

GqaShape gqa_shape(const GgufContext& c, int layer) {
  GqaShape shape = head_shape(c, layer);
  const bool fused = c.tensors.has(layer, "attn_qkv.weight");
  if (fused)
    read_fused(c, layer, shape);
  else
    read_separate(c, layer, shape);
  shape.qk_norm = qk_norm(c, layer, shape);
  shape.qkv_bias = c.tensors.has(layer, fused ? "attn_qkv.bias" : "attn_q.bias");
  shape.o_bias = c.tensors.has(layer, "attn_output.bias");
  shape.sinks = c.tensors.has(layer, "attn_sinks.weight");
  if (const GgufTensor* gate = c.tensors.block(layer, "attn_gate.weight"))
    shape.output_gate =
        rows_of(*gate) == shape.n_heads ? OutputGate::headwise : OutputGate::elementwise;
  return shape;
}

Mixer gqa_mixer(const GgufContext& c, int layer) {
  const GqaShape shape = gqa_shape(c, layer);
  if (!windowed(c, layer)) return GroupedQueryAttention{.shape = shape};
  if (c.architecture.windows == GgufWindows::chunked)
    return ChunkedAttention{.shape = shape, .chunk = c.window};
  return SlidingWindowAttention{.shape = shape, .window = c.window};
}

MlaShape mla_shape(const GgufContext& c, int layer) {
  GgufFields& f = c.fields;
  MlaShape shape;
  shape.n_heads = c.heads.n_heads[index(layer)];
  shape.kv_lora_rank = f.required("attention.kv_lora_rank");
  if (c.tensors.has(layer, "attn_q_a.weight"))
    shape.q_lora_rank = f.required("attention.q_lora_rank");
  shape.qk_rope_head_dim = f.required("rope.dimension_count");
  // Files made for the absorbed form give the latent as key_length and the heads' sizes apart.
  const std::int64_t key = f.whole("attention.key_length_mla").value_or(c.heads.head_dim);
  shape.v_head_dim = f.whole("attention.value_length_mla").value_or(c.heads.v_head_dim);
  shape.qk_nope_head_dim = key - shape.qk_rope_head_dim;
  if (shape.qk_nope_head_dim < 1 || shape.v_head_dim < 1 || shape.n_heads < 1)
    f.fail(fmt::format("blk.{}", layer),
           fmt::format("expected heads longer than their {} rotated dimensions, got {}",
                       shape.qk_rope_head_dim, key));
  expect_rows(c, *c.tensors.block(layer, "attn_kv_a_mqa.weight"),
              shape.kv_lora_rank + shape.qk_rope_head_dim, "latent and rotated key");
  return shape;
}

/// Only files with the halves of kv_b apart run absorbed; others cache full keys and values.
Mixer mla_mixer(const GgufContext& c, int layer) {
  GgufFields& f = c.fields;
  const MlaShape shape = mla_shape(c, layer);
  const bool own_indexer = c.tensors.any(layer, "indexer.");
  if (own_indexer || (layer > 0 && f.whole("attention.indexer.top_k"))) {
    return SparseLatentAttention{
        .shape = shape,
        .index_n_heads = f.required("attention.indexer.head_count"),
        .index_head_dim = f.required("attention.indexer.key_length"),
        .index_topk = f.required("attention.indexer.top_k"),
        .index_owner = own_indexer ? KvOwner::self : KvOwner::earlier_layer,
    };
  }
  if (f.whole("attention.key_length_mla")) return MultiHeadLatentAttention{.shape = shape};
  if (layer == 0)
    f.warn(
        "this file lacks the absorbed form of latent attention: llama.cpp caches full keys and "
        "values of all heads; a newer conversion caches one latent");
  return ExpandedLatentAttention{.shape = shape};
}

}  // namespace

Mixer gguf_mixer(const GgufContext& c, int layer) {
  const bool latent = c.tensors.has(layer, "attn_kv_a_mqa.weight");
  const bool state = c.tensors.any(layer, "ssm_") || c.tensors.any(layer, "shortconv.") ||
                     c.tensors.any(layer, "time_mix_");
  const bool attention =
      c.tensors.has(layer, "attn_q.weight") || c.tensors.has(layer, "attn_qkv.weight");
  // Kimi's and Qwen's linear layers hold attn_q or attn_qkv beside their state's tensors.
  if (state) return gguf_state_mixer(c, layer);
  if (latent) return mla_mixer(c, layer);
  if (attention) return gqa_mixer(c, layer);
  if (c.tensors.any(layer, "attn_output") || c.tensors.any(layer, "attn_kv"))
    refuse_block(c, layer, "attention of an unknown form");
  return NoMixer{};
}

}  // namespace roofcast
