#include "model/architecture/hf_modules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace roofcast::detail {
namespace {

/// Up to five names; unused places are empty.
using Names = std::array<std::string_view, 5>;

constexpr Names kAttentionParents = {"self_attn", "mixer", "attention", "attn"};
constexpr Names kBlockParents = {"mlp", "mixer", "feed_forward", "block_sparse_moe"};

/// A matrix below its parent: what it is, how many elements, and its names.
struct Part {
  Component component;
  double elements;
  Names parents;
  Names names;
};

using Parts = std::vector<Part>;

/// All but the last part have their own size; the last takes the rest of the layer's matrices.
Parts with_rest(Parts parts, double matrices) {
  double others = 0.0;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) others += parts[i].elements;
  parts.back().elements = std::max(0.0, matrices - others);
  return parts;
}

Part attention(double elements, Names names) {
  return {Component::attention, elements, kAttentionParents, names};
}

Parts shape_parts(const GqaShape& s, double hidden) {
  const double queries = static_cast<double>(s.n_heads * s.head_dim) * hidden *
                         (s.output_gate == OutputGate::elementwise ? 2.0 : 1.0);
  const double keys = static_cast<double>(s.n_kv_heads * s.head_dim) * hidden;
  const double values = static_cast<double>(s.n_kv_heads) * s.value_dim() * hidden;
  const bool own = s.kv_owner == KvOwner::self;
  Parts parts = {attention(queries, {"q_proj", "qkv_proj", "c_attn", "query_key_value"})};
  if (own) parts.push_back(attention(keys, {"k_proj", "qkv_proj", "c_attn", "query_key_value"}));
  if (own && !s.shared_kv_weights)
    parts.push_back(attention(values, {"v_proj", "qkv_proj", "c_attn", "query_key_value"}));
  return parts;
}

Parts grouped_parts(const GqaShape& shape, double hidden, double matrices) {
  Parts parts = shape_parts(shape, hidden);
  parts.push_back(attention(0.0, {"o_proj", "out_proj", "c_proj", "dense"}));
  return with_rest(std::move(parts), matrices);
}

Parts latent_parts(const MlaShape& s, double hidden) {
  const auto q_rank = static_cast<double>(s.q_lora_rank);
  const auto kv_rank = static_cast<double>(s.kv_lora_rank);
  const auto heads = static_cast<double>(s.n_heads);
  const double query = heads * static_cast<double>(s.qk_nope_head_dim + s.qk_rope_head_dim);
  Parts parts;
  if (s.q_lora_rank > 0) {
    parts.push_back(attention(hidden * q_rank, {"q_a_proj", "fused_qkv_a_proj"}));
    parts.push_back(attention(q_rank * query, {"q_b_proj"}));
  } else {
    parts.push_back(attention(hidden * query, {"q_proj"}));
  }
  parts.push_back(attention(hidden * s.latent_dim(), {"kv_a_proj_with_mqa", "fused_qkv_a_proj"}));
  parts.push_back(attention(
      kv_rank * heads * static_cast<double>(s.qk_nope_head_dim + s.v_head_dim), {"kv_b_proj"}));
  parts.push_back(attention(heads * static_cast<double>(s.v_head_dim) * hidden, {"o_proj"}));
  return parts;
}

struct MixerParts {
  double hidden;
  double matrices;

  Parts operator()(const GroupedQueryAttention& k) const {
    return grouped_parts(k.shape, hidden, matrices);
  }
  Parts operator()(const SlidingWindowAttention& k) const {
    return grouped_parts(k.shape, hidden, matrices);
  }
  Parts operator()(const ChunkedAttention& k) const {
    return grouped_parts(k.shape, hidden, matrices);
  }
  Parts operator()(const SparseGroupedAttention& k) const {
    Parts parts = shape_parts(k.shape, hidden);
    parts.push_back(
        attention(static_cast<double>(k.shape.n_heads) * k.shape.value_dim() * hidden, {"o_proj"}));
    parts.push_back(attention(0.0, {"index_q_proj", "index_k_proj", "indexer"}));
    return with_rest(std::move(parts), matrices);
  }
  Parts operator()(const MultiHeadLatentAttention& k) const {
    Parts parts = latent_parts(k.shape, hidden);
    if (k.shape.output_gate == OutputGate::none) return parts;
    parts.push_back(attention(0.0, {"g_proj"}));
    return with_rest(std::move(parts), matrices);
  }
  Parts operator()(const SparseLatentAttention& k) const {
    Parts parts = latent_parts(k.shape, hidden);
    if (k.index_owner == KvOwner::self)
      parts.push_back(attention(0.0, {"indexer.wq_b", "indexer.wk"}));
    return with_rest(std::move(parts), matrices);
  }
  Parts operator()(const GatedDeltaNet& k) const {
    const double keys = static_cast<double>(k.n_key_heads * k.key_head_dim);
    const double values = static_cast<double>(k.n_value_heads * k.value_head_dim);
    const auto heads = static_cast<double>(k.n_value_heads);
    constexpr Names kParents = {"linear_attn"};
    return with_rest(
        {{Component::attention,
          hidden * (2.0 * keys + values),
          kParents,
          {"in_proj_qkv", "in_proj_qkvz"}},
         {Component::attention, hidden * values, kParents, {"in_proj_z", "in_proj_qkvz"}},
         {Component::attention, hidden * heads, kParents, {"in_proj_b", "in_proj_ba"}},
         {Component::attention, hidden * heads, kParents, {"in_proj_a", "in_proj_ba"}},
         {Component::attention, 0.0, kParents, {"out_proj"}}},
        matrices);
  }
  Parts operator()(const Mamba2& k) const {
    const double width = static_cast<double>(k.n_heads * k.head_dim);
    constexpr Names kParents = {"mixer", "mamba"};
    return with_rest({{Component::attention, width * hidden, kParents, {"out_proj"}},
                      {Component::attention, 0.0, kParents, {"in_proj"}}},
                     matrices);
  }
  Parts operator()(const ShortConvolution& k) const {
    constexpr Names kParents = {"conv"};
    return with_rest(
        {{Component::attention, static_cast<double>(k.conv_dim) * hidden, kParents, {"out_proj"}},
         {Component::attention, 0.0, kParents, {"in_proj"}}},
        matrices);
  }
  Parts operator()(const NoMixer&) const { return {}; }
  /// Kinds whose matrices are only told apart from other layers' parts.
  template <typename Kind>
  Parts operator()(const Kind&) const {
    return {attention(matrices, {"q_proj", "wq_b"})};
  }
};

/// Gate, up and down of a block, a third (or, plain, half) of its elements each.
void append_block(Parts& parts, Component component, double elements, FfnForm form,
                  std::initializer_list<Names> names) {
  if (elements <= 0.0) return;
  const double count = form == FfnForm::gated ? 3.0 : 2.0;
  std::size_t index = form == FfnForm::gated ? 0 : 1;
  for (; index < 3; ++index)
    parts.push_back({component, elements / count, kBlockParents, *(names.begin() + index)});
}

struct FfnParts {
  double hidden;

  Parts operator()(const DenseFfn& f) const {
    Parts parts;
    append_block(parts, Component::dense_ffn, f.parameters(hidden).dense, f.form,
                 {{"gate_proj", "gate_up_proj", "w1"},
                  {"up_proj", "gate_up_proj", "w3", "fc1", "c_fc"},
                  {"down_proj", "w2", "fc2", "c_proj"}});
    return parts;
  }
  Parts operator()(const MoeFfn& f) const {
    const FfnParameters p = f.parameters(hidden);
    Parts parts;
    append_block(parts, Component::routed_experts, p.routed, f.form,
                 {{"experts.0.gate_proj", "experts.0.w1", "experts.gate_up_proj"},
                  {"experts.0.up_proj", "experts.0.w3", "experts.gate_up_proj"},
                  {"experts.0.down_proj", "experts.0.w2", "experts.down_proj"}});
    append_block(parts, Component::shared_experts, p.shared, f.form,
                 {{"shared_experts.gate_proj", "shared_expert.gate_proj"},
                  {"shared_experts.up_proj", "shared_expert.up_proj"},
                  {"shared_experts.down_proj", "shared_expert.down_proj"}});
    append_block(parts, Component::dense_ffn, p.dense, f.form,
                 {{"gate_proj"}, {"up_proj"}, {"down_proj"}});
    parts.push_back({Component::router, p.router, kBlockParents, {"gate", "router"}});
    return parts;
  }
  Parts operator()(const NoFfn&) const { return {}; }
};

}  // namespace

void for_each_matrix(const ArchitectureSpec& spec,
                     const std::function<void(const ModelMatrix&)>& use) {
  const auto hidden = static_cast<double>(spec.hidden_dim);
  std::vector<std::string> names;
  const auto visit = [&](const Parts& parts, std::size_t layer) {
    for (const Part& part : parts) {
      names.clear();
      for (const std::string_view parent : part.parents)
        for (const std::string_view name : part.names)
          if (!parent.empty() && !name.empty())
            names.push_back(fmt::format("layers.{}.{}.{}", layer, parent, name));
      use({part.component, part.elements, names});
    }
  };
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const Mixer& mixer = spec.mixers[static_cast<std::size_t>(spec.layers[i].mixer)].kind;
    const FeedForward& ffn = spec.ffns[static_cast<std::size_t>(spec.layers[i].ffn)].kind;
    const double matrices =
        std::visit([&](const auto& kind) { return kind.parameters(hidden).matrices; }, mixer);
    visit(std::visit(MixerParts{hidden, matrices}, mixer), i);
    visit(std::visit(FfnParts{hidden}, ffn), i);
  }
  const double table = static_cast<double>(spec.vocab_size) * hidden;
  names = {"embed_tokens", "embeddings", "wte", "tok_embeddings"};
  if (!spec.tied_embeddings) use({Component::embedding, table, names});
  names = {"lm_head", "output"};
  use({Component::lm_head, table, names});
}

}  // namespace roofcast::detail
