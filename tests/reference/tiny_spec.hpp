#pragma once

#include "model/architecture/architecture_spec.hpp"
#include "tests/reference/naive_decode.hpp"

namespace roofcast {

/// The same model as the engine reads it.
inline ArchitectureSpec spec_of(const TinyModel& m) {
  ArchitectureSpec spec;
  spec.name = "tiny";
  spec.hidden_dim = m.hidden_dim;
  spec.vocab_size = m.vocab_size;
  spec.tied_embeddings = m.tied;
  GroupedQueryAttention attention;
  attention.shape.n_heads = m.n_heads;
  attention.shape.n_kv_heads = m.n_kv_heads;
  attention.shape.head_dim = m.head_dim;
  attention.shape.qk_norm = m.qk_norm ? QkNorm::head : QkNorm::none;
  attention.shape.qkv_bias = m.qkv_bias;
  attention.shape.o_bias = m.o_bias;
  DenseFfn ffn;
  ffn.ffn_dim = m.ffn_dim;
  ffn.form = m.gated ? FfnForm::gated : FfnForm::plain;
  ffn.bias = m.ffn_bias;
  attention.shape.sinks = m.sinks;
  spec.mixers.push_back({"attn", attention});
  if (m.window > 0)
    spec.mixers.push_back({"local", SlidingWindowAttention{attention.shape, m.window}});
  if (m.chunk > 0) spec.mixers.push_back({"local", ChunkedAttention{attention.shape, m.chunk}});
  spec.ffns.push_back({"ffn", ffn});
  MoeFfn moe;
  moe.n_experts = m.n_experts;
  moe.n_experts_per_token = m.n_experts_per_token;
  moe.expert_dim = m.expert_dim;
  moe.n_shared_experts = m.n_shared_experts;
  moe.shared_expert_dim = m.shared_expert_dim;
  moe.dense_dim = m.dense_dim;
  moe.form = ffn.form;
  moe.router_bias = m.router_bias;
  moe.shared_gate = m.shared_gate;
  if (m.n_experts > 0) spec.ffns.push_back({"moe", moe});
  spec.norms_per_block = m.post_norms ? 2 : 1;
  for (int layer = 0; layer < m.n_layers; ++layer)
    spec.layers.push_back(
        {.mixer = m.is_local(layer) ? 1 : 0, .ffn = m.has_experts(layer) ? 1 : 0});
  finish_architecture(spec);
  return spec;
}

}  // namespace roofcast
