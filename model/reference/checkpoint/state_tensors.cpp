#include "model/reference/checkpoint/tensor_lists.hpp"

// Qwen3-Next (gated delta rule, attention with an output gate) and Nemotron-H (Mamba-2).
namespace roofcast::detail {
namespace {

using Parts = LayerParts;
using Shape = TensorShape;

std::int64_t values_per_key(const GatedDeltaNet& d) { return d.n_value_heads / d.n_key_heads; }
std::int64_t key_width(const GatedDeltaNet& d) { return d.n_key_heads * d.key_head_dim; }
std::int64_t value_width(const GatedDeltaNet& d) { return d.n_value_heads * d.value_head_dim; }

Shape delta(const Parts& p, Shape (*shape)(const GatedDeltaNet& d, std::int64_t hidden)) {
  return p.delta == nullptr ? Shape{} : shape(*p.delta, p.spec->hidden_dim);
}
Shape delta_heads(const Parts& p) {
  return delta(p, [](const GatedDeltaNet& d, std::int64_t) { return Shape{d.n_value_heads}; });
}

// One stored matrix holds, for each key head, the rows of its query, its key, and of the values and
// gates of its value heads; another the write strengths and decays of its value heads.

Shape qkvz(const Parts& p) {
  return delta(p, [](const GatedDeltaNet& d, std::int64_t hidden) {
    return Shape{2 * key_width(d) + 2 * value_width(d), hidden};
  });
}
Shape strengths_and_decays(const Parts& p) {
  return delta(p, [](const GatedDeltaNet& d, std::int64_t hidden) {
    return Shape{2 * d.n_value_heads, hidden};
  });
}

/// Row `row` of `each` rows per key head, which start `before` rows into the key head's `group`.
RowPlace grouped_row(std::int64_t row, std::int64_t each, std::int64_t before, std::int64_t group,
                     std::int64_t width) {
  return {(row / each * group + before + row % each) * width, 1};
}
std::int64_t group_rows(const GatedDeltaNet& d) {
  return 2 * d.key_head_dim + 2 * values_per_key(d) * d.value_head_dim;
}
template <int kWhich>
RowPlace key_row(const Parts& p, std::int64_t row, std::int64_t width) {
  const GatedDeltaNet& d = *p.delta;
  return grouped_row(row, d.key_head_dim, kWhich * d.key_head_dim, group_rows(d), width);
}
template <int kWhich>
RowPlace value_row(const Parts& p, std::int64_t row, std::int64_t width) {
  const GatedDeltaNet& d = *p.delta;
  const std::int64_t each = values_per_key(d) * d.value_head_dim;
  return grouped_row(row, each, 2 * d.key_head_dim + kWhich * each, group_rows(d), width);
}
template <int kWhich>
RowPlace scalar_row(const Parts& p, std::int64_t row, std::int64_t width) {
  const std::int64_t each = values_per_key(*p.delta);
  return grouped_row(row, each, kWhich * each, 2 * each, width);
}

constexpr TensorRule kDelta[] = {
    {Tensor::q, "model.layers.{layer}.linear_attn.in_proj_qkvz.weight", qkvz, key_row<0>},
    {Tensor::k, "model.layers.{layer}.linear_attn.in_proj_qkvz.weight", qkvz, key_row<1>},
    {Tensor::v, "model.layers.{layer}.linear_attn.in_proj_qkvz.weight", qkvz, value_row<0>},
    {Tensor::mixer_gate, "model.layers.{layer}.linear_attn.in_proj_qkvz.weight", qkvz,
     value_row<1>},
    {Tensor::strength_in, "model.layers.{layer}.linear_attn.in_proj_ba.weight",
     strengths_and_decays, scalar_row<0>},
    {Tensor::decay_in, "model.layers.{layer}.linear_attn.in_proj_ba.weight", strengths_and_decays,
     scalar_row<1>},
    {Tensor::conv, "model.layers.{layer}.linear_attn.conv1d.weight",
     [](const Parts& p) {
       return delta(p, [](const GatedDeltaNet& d, std::int64_t) {
         return Shape{2 * key_width(d) + value_width(d), 1, d.conv_kernel};
       });
     }},
    {Tensor::decay_log, "model.layers.{layer}.linear_attn.A_log", delta_heads},
    {Tensor::time_step_bias, "model.layers.{layer}.linear_attn.dt_bias", delta_heads},
    {Tensor::mixer_norm, "model.layers.{layer}.linear_attn.norm.weight",
     [](const Parts& p) {
       return delta(p,
                    [](const GatedDeltaNet& d, std::int64_t) { return Shape{d.value_head_dim}; });
     }},
    {Tensor::attn_out, "model.layers.{layer}.linear_attn.out_proj.weight",
     [](const Parts& p) {
       return delta(p, [](const GatedDeltaNet& d, std::int64_t hidden) {
         return Shape{hidden, value_width(d)};
       });
     }},
};

// Each head's query rows are followed by those of its output gate.

Shape gated_q(const Parts& p) {
  if (p.gqa == nullptr) return {};
  return {2 * p.gqa->n_heads * p.gqa->head_dim, p.spec->hidden_dim};
}
template <int kWhich>
RowPlace gated_q_row(const Parts& p, std::int64_t row, std::int64_t width) {
  const std::int64_t dim = p.gqa->head_dim;
  return grouped_row(row, dim, kWhich * dim, 2 * dim, width);
}

constexpr TensorRule kGatedQueries[] = {
    {Tensor::q, "model.layers.{layer}.self_attn.q_proj.weight", gated_q, gated_q_row<0>},
    {Tensor::attn_gate, "model.layers.{layer}.self_attn.q_proj.weight", gated_q, gated_q_row<1>},
};

constexpr TensorRule kGatedSharedExperts[] = {
    {Tensor::shared_up, "model.layers.{layer}.mlp.shared_expert.up_proj.weight", shared_in},
    {Tensor::shared_gate, "model.layers.{layer}.mlp.shared_expert.gate_proj.weight", shared_in},
    {Tensor::shared_down, "model.layers.{layer}.mlp.shared_expert.down_proj.weight", shared_out},
    {Tensor::shared_output_gate, "model.layers.{layer}.mlp.shared_expert_gate.weight",
     [](const Parts& p) {
       return p.moe != nullptr && p.moe->shared_gate ? Shape{1, p.spec->hidden_dim} : Shape{};
     }},
};

Shape mamba(const Parts& p, Shape (*shape)(const Mamba2& m, std::int64_t hidden)) {
  return p.mamba == nullptr ? Shape{} : shape(*p.mamba, p.spec->hidden_dim);
}
std::int64_t inner_width(const Mamba2& m) { return m.n_heads * m.head_dim; }
std::int64_t channels(const Mamba2& m) { return inner_width(m) + 2 * m.n_groups * m.state_dim; }
Shape mamba_heads(const Parts& p) {
  return mamba(p, [](const Mamba2& m, std::int64_t) { return Shape{m.n_heads}; });
}
Shape mixer_norm(const Parts& p) {
  return p.gqa != nullptr || p.mamba != nullptr ? hidden(p) : Shape{};
}

constexpr TensorRule kNemotron[] = {
    {Tensor::embedding, "backbone.embeddings.weight", vocabulary},
    {Tensor::lm_head, "lm_head.weight", untied_vocabulary},
    {Tensor::final_norm, "backbone.norm_f.weight", hidden},
    {Tensor::attn_norm, "backbone.layers.{layer}.norm.weight", mixer_norm},
    {Tensor::ffn_norm, "backbone.layers.{layer}.norm.weight", ffn_norm},
    {Tensor::q, "backbone.layers.{layer}.mixer.q_proj.weight", queries},
    {Tensor::k, "backbone.layers.{layer}.mixer.k_proj.weight", keys},
    {Tensor::v, "backbone.layers.{layer}.mixer.v_proj.weight", keys},
    {Tensor::attn_out, "backbone.layers.{layer}.mixer.o_proj.weight", attn_out},
    {Tensor::up, "backbone.layers.{layer}.mixer.up_proj.weight", dense_in},
    {Tensor::down, "backbone.layers.{layer}.mixer.down_proj.weight", dense_out},
    {Tensor::router, "backbone.layers.{layer}.mixer.gate.weight", router},
    {Tensor::router_bias, "backbone.layers.{layer}.mixer.gate.e_score_correction_bias",
     router_bias},
    {Tensor::expert_up, "backbone.layers.{layer}.mixer.experts.{expert}.up_proj.weight", expert_in},
    {Tensor::expert_down, "backbone.layers.{layer}.mixer.experts.{expert}.down_proj.weight",
     expert_out},
    {Tensor::shared_up, "backbone.layers.{layer}.mixer.shared_experts.up_proj.weight", shared_in},
    {Tensor::shared_down, "backbone.layers.{layer}.mixer.shared_experts.down_proj.weight",
     shared_out},
    {Tensor::mixer_in, "backbone.layers.{layer}.mixer.in_proj.weight",
     [](const Parts& p) {
       return mamba(p, [](const Mamba2& m, std::int64_t hidden_dim) {
         return Shape{inner_width(m) + channels(m) + m.n_heads, hidden_dim};
       });
     }},
    {Tensor::conv, "backbone.layers.{layer}.mixer.conv1d.weight",
     [](const Parts& p) {
       return mamba(p, [](const Mamba2& m, std::int64_t) {
         return Shape{channels(m), 1, m.conv_kernel};
       });
     }},
    {Tensor::conv_bias, "backbone.layers.{layer}.mixer.conv1d.bias",
     [](const Parts& p) {
       return mamba(p, [](const Mamba2& m, std::int64_t) {
         return m.conv_bias ? Shape{channels(m)} : Shape{};
       });
     }},
    {Tensor::decay_log, "backbone.layers.{layer}.mixer.A_log", mamba_heads},
    {Tensor::time_step_bias, "backbone.layers.{layer}.mixer.dt_bias", mamba_heads},
    {Tensor::skip, "backbone.layers.{layer}.mixer.D", mamba_heads},
    {Tensor::mixer_norm, "backbone.layers.{layer}.mixer.norm.weight",
     [](const Parts& p) {
       return mamba(p, [](const Mamba2& m, std::int64_t) { return Shape{inner_width(m)}; });
     }},
    {Tensor::attn_out, "backbone.layers.{layer}.mixer.out_proj.weight",
     [](const Parts& p) {
       return mamba(p, [](const Mamba2& m, std::int64_t hidden_dim) {
         return Shape{hidden_dim, inner_width(m)};
       });
     }},
};

}  // namespace

TensorList delta_tensors() { return kDelta; }
TensorList gated_query_tensors() { return kGatedQueries; }
TensorList gated_shared_expert_tensors() { return kGatedSharedExperts; }
TensorList nemotron_tensors() { return kNemotron; }

}  // namespace roofcast::detail
