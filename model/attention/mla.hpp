#pragma once

#include <algorithm>

#include "model/attention/gqa_shape.hpp"

namespace roofcast {

/// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): the cache holds one latent of
/// kv_lora_rank + qk_rope_head_dim elements per token that serves as key and value of all heads. It
/// is one copy (no factor 2) and is not divided by tensor parallelism.
struct MlaShape {
  std::int64_t n_heads = 0;
  std::int64_t q_lora_rank = 0;  // 0: queries are projected directly
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
  OutputGate output_gate = OutputGate::none;

  bool operator==(const MlaShape&) const = default;

  double latent_dim() const { return static_cast<double>(kv_lora_rank + qk_rope_head_dim); }

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    field("n_heads", self.n_heads);
    field("q_lora_rank", self.q_lora_rank, Presence::optional, 0);
    field("kv_lora_rank", self.kv_lora_rank);
    field("qk_nope_head_dim", self.qk_nope_head_dim);
    field("qk_rope_head_dim", self.qk_rope_head_dim, Presence::optional, 0);
    field("v_head_dim", self.v_head_dim);
    field("output_gate", self.output_gate);
  }
};

MixerParameters parameters(const MlaShape& shape, double hidden_dim);

/// Projections to queries and to the latent, and rotary embedding, which is returned.
Operator& append_mla_projections(const MlaShape& shape, OperatorBuilder& builder);

/// The same with the cache write of the latent.
void append_mla_inputs(const MlaShape& shape, OperatorBuilder& builder);

/// Output projection and reduction over ranks.
void append_mla_output(const MlaShape& shape, OperatorBuilder& builder);

/// Attention and output. A decode pass uses the absorbed form: queries move into the latent space,
/// attention reads the latent once for all heads, 2 * heads * (2 * kv_lora_rank + rope) FLOPs per
/// pair. A prefill pass expands the latents to full keys and values first, as engines do, since
/// 2 * heads * (nope + rope + v) FLOPs per pair are fewer.
void append_mla_attention(const MlaShape& shape, double tokens_read, double pairs,
                          OperatorBuilder& builder);

/// The absorbed form in any pass: what kernels of sparse attention use, since each query gathers
/// latents of its own.
void append_mla_absorbed_attention(const MlaShape& shape, double tokens_read, double pairs,
                                   OperatorBuilder& builder);

struct MultiHeadLatentAttention {
  static constexpr std::string_view kName = "mla";
  static constexpr std::string_view kSummary =
      "multi-head latent attention: one latent per token for all heads, not split by TP";

  MlaShape shape;

  bool operator==(const MultiHeadLatentAttention&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    MlaShape::visit_fields(self.shape, field);
  }

  MixerParameters parameters(double hidden_dim) const {
    return roofcast::parameters(shape, hidden_dim);
  }
  CacheElements cache(double context) const { return {.k = shape.latent_dim() * context}; }
  CacheShards cache_shards(double) const { return {}; }
  void append_operators(OperatorBuilder& builder) const {
    const StepShape& step = builder.step();
    append_mla_inputs(shape, builder);
    append_mla_attention(shape, step.context, causal_pairs(step.context, step.query_len), builder);
  }
};

}  // namespace roofcast
