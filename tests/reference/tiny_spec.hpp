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
  spec.norms_per_block = m.post_norms ? 2 : 1;
  for (int layer = 0; layer < m.n_layers; ++layer)
    spec.layers.push_back({.mixer = m.is_local(layer) ? 1 : 0, .ffn = 0});
  finish_architecture(spec);
  return spec;
}

}  // namespace roofcast
