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
  spec.mixers.push_back({"attn", attention});
  spec.ffns.push_back({"ffn", ffn});
  spec.layers.assign(static_cast<std::size_t>(m.n_layers), Layer{});
  finish_architecture(spec);
  return spec;
}

}  // namespace roofcast
