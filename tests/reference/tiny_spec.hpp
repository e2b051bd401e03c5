#pragma once

#include <algorithm>

#include "model/architecture/architecture_spec.hpp"
#include "tests/reference/naive_decode.hpp"

namespace roofcast {

/// Where `item` stands in a list of named kinds, to which it is added when it is new.
template <typename Named>
int index_of(std::vector<Named>& list, const Named& item) {
  const auto found = std::find(list.begin(), list.end(), item);
  const auto at = static_cast<int>(found - list.begin());
  if (found == list.end()) list.push_back(item);
  return at;
}

/// A mixer other than attention.
inline NamedMixer state_mixer(const TinyModel& m, TinyMixer kind) {
  const TinyState& s = m.state;
  switch (kind) {
    case TinyMixer::gated_delta: {
      GatedDeltaNet delta;
      delta.n_key_heads = s.key_heads;
      delta.n_value_heads = s.value_heads;
      delta.key_head_dim = s.key_dim;
      delta.value_head_dim = s.value_dim;
      delta.conv_kernel = s.conv_kernel;
      return {"delta", delta};
    }
    case TinyMixer::kda: {
      KimiDeltaAttention kda;
      kda.n_heads = s.value_heads;
      kda.head_dim = s.value_dim;
      kda.conv_kernel = s.conv_kernel;
      kda.full_rank_gate = s.full_rank_gate;
      return {"kda", kda};
    }
    case TinyMixer::lightning: {
      LightningAttention lightning;
      lightning.n_heads = s.value_heads;
      lightning.head_dim = s.value_dim;
      return {"lightning", lightning};
    }
    case TinyMixer::mamba1: {
      Mamba1 mamba;
      mamba.inner_dim = s.value_heads * s.value_dim;
      mamba.state_dim = s.key_dim;
      mamba.dt_rank = s.dt_rank;
      mamba.conv_kernel = s.conv_kernel;
      mamba.conv_bias = s.conv_bias;
      return {"mamba", mamba};
    }
    case TinyMixer::mamba2: {
      Mamba2 mamba;
      mamba.n_heads = s.value_heads;
      mamba.head_dim = s.value_dim;
      mamba.n_groups = s.key_heads;
      mamba.state_dim = s.key_dim;
      mamba.conv_kernel = s.conv_kernel;
      mamba.conv_bias = s.conv_bias;
      return {"mamba", mamba};
    }
    case TinyMixer::short_conv: {
      ShortConvolution conv;
      conv.conv_dim = m.hidden_dim;
      conv.conv_kernel = s.conv_kernel;
      conv.bias = s.conv_bias;
      return {"conv", conv};
    }
    default:
      return {"none", NoMixer{}};
  }
}

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
  if (m.state.bf16_state) spec.formats[Component::state] = storage_of(*find_format("bf16"));
  spec.formats[Component::k] = storage_of(*find_format(m.k_format));
  spec.formats[Component::v] = storage_of(*find_format(m.v_format));
  spec.norms_per_block = m.post_norms ? 2 : 1;
  for (int layer = 0; layer < m.n_layers; ++layer) {
    Layer& place = spec.layers.emplace_back();
    place.mixer = m.is_local(layer) ? 1 : 0;
    place.ffn = m.has_experts(layer) ? 1 : 0;
    if (!m.attends(layer))
      place.mixer = index_of(spec.mixers, state_mixer(m, m.mixer(static_cast<std::size_t>(layer))));
    if (!m.has_ffn(layer)) place.ffn = index_of(spec.ffns, {"none", NoFfn{}});
  }
  finish_architecture(spec);
  return spec;
}

}  // namespace roofcast
