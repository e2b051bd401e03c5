#include "model/reference/checkpoint/tensor_lists.hpp"

// DeepSeek-V3: latent attention, and a router whose bias only chooses.
namespace roofcast::detail {
namespace {

using Parts = LayerParts;
using Shape = TensorShape;

std::int64_t query_dim(const MlaShape& s) { return s.qk_nope_head_dim + s.qk_rope_head_dim; }

Shape latent(const Parts& p, TensorShape (*shape)(const MlaShape& s, std::int64_t hidden)) {
  return p.mla == nullptr ? Shape{} : shape(*p.mla, p.spec->hidden_dim);
}

/// Stored rotary pairs are neighbours; the engine's are half a width apart. Row of the stored
/// tensor for row `row` of the `width` that turns.
std::int64_t interleaved(std::int64_t row, std::int64_t width) {
  return row < width / 2 ? 2 * row : 2 * row - width + 1;
}

RowPlace query_row(const Parts& p, std::int64_t row, std::int64_t width) {
  const std::int64_t head = row / query_dim(*p.mla);
  const std::int64_t at = row % query_dim(*p.mla) - p.mla->qk_nope_head_dim;
  if (at < 0) return whole_row(p, row, width);
  return whole_row(
      p,
      head * query_dim(*p.mla) + p.mla->qk_nope_head_dim + interleaved(at, p.mla->qk_rope_head_dim),
      width);
}

RowPlace latent_row(const Parts& p, std::int64_t row, std::int64_t width) {
  const std::int64_t at = row - p.mla->kv_lora_rank;
  if (at < 0) return whole_row(p, row, width);
  return whole_row(p, p.mla->kv_lora_rank + interleaved(at, p.mla->qk_rope_head_dim), width);
}

constexpr TensorRule kLatent[] = {
    {Tensor::q, "model.layers.{layer}.self_attn.q_proj.weight",
     [](const Parts& p) {
       return latent(p, [](const MlaShape& s, std::int64_t hidden) {
         return s.q_lora_rank > 0 ? Shape{} : Shape{s.n_heads * query_dim(s), hidden};
       });
     },
     query_row},
    {Tensor::q_down, "model.layers.{layer}.self_attn.q_a_proj.weight",
     [](const Parts& p) {
       return latent(p, [](const MlaShape& s, std::int64_t hidden) {
         return s.q_lora_rank > 0 ? Shape{s.q_lora_rank, hidden} : Shape{};
       });
     }},
    {Tensor::q_latent_norm, "model.layers.{layer}.self_attn.q_a_layernorm.weight",
     [](const Parts& p) {
       return latent(p, [](const MlaShape& s, std::int64_t) {
         return s.q_lora_rank > 0 ? Shape{s.q_lora_rank} : Shape{};
       });
     }},
    {Tensor::q, "model.layers.{layer}.self_attn.q_b_proj.weight",
     [](const Parts& p) {
       return latent(p, [](const MlaShape& s, std::int64_t) {
         return s.q_lora_rank > 0 ? Shape{s.n_heads * query_dim(s), s.q_lora_rank} : Shape{};
       });
     },
     query_row},
    {Tensor::kv_down, "model.layers.{layer}.self_attn.kv_a_proj_with_mqa.weight",
     [](const Parts& p) {
       return latent(p, [](const MlaShape& s, std::int64_t hidden) {
         return Shape{s.kv_lora_rank + s.qk_rope_head_dim, hidden};
       });
     },
     latent_row},
    {Tensor::kv_latent_norm, "model.layers.{layer}.self_attn.kv_a_layernorm.weight",
     [](const Parts& p) {
       return latent(p, [](const MlaShape& s, std::int64_t) { return Shape{s.kv_lora_rank}; });
     }},
    {Tensor::kv_up, "model.layers.{layer}.self_attn.kv_b_proj.weight",
     [](const Parts& p) {
       return latent(p, [](const MlaShape& s, std::int64_t) {
         return Shape{s.n_heads * (s.qk_nope_head_dim + s.v_head_dim), s.kv_lora_rank};
       });
     }},
    {Tensor::attn_out, "model.layers.{layer}.self_attn.o_proj.weight",
     [](const Parts& p) {
       return latent(p, [](const MlaShape& s, std::int64_t hidden) {
         return Shape{hidden, s.n_heads * s.v_head_dim};
       });
     }},
};

constexpr TensorRule kDeepseekExperts[] = {
    {Tensor::router_bias, "model.layers.{layer}.mlp.gate.e_score_correction_bias", router_bias},
    {Tensor::shared_up, "model.layers.{layer}.mlp.shared_experts.up_proj.weight", shared_in},
    {Tensor::shared_gate, "model.layers.{layer}.mlp.shared_experts.gate_proj.weight", shared_in},
    {Tensor::shared_down, "model.layers.{layer}.mlp.shared_experts.down_proj.weight", shared_out},
};

}  // namespace

TensorList latent_tensors() { return kLatent; }
TensorList deepseek_expert_tensors() { return kDeepseekExperts; }

}  // namespace roofcast::detail
