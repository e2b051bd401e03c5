#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "model/architecture/fields.hpp"
#include "model/attention/mixer_facts.hpp"
#include "model/operators/operator_builder.hpp"

namespace roofcast {

/// Norm on queries and keys: none, over each head (Qwen3), or over all heads at once (OLMo 2,
/// MiniMax-M2).
enum class QkNorm { none, head, full };
template <>
struct EnumNames<QkNorm> {
  static constexpr std::array<std::string_view, 3> kNames = {"none", "head", "full"};
};

/// Gate on the attention output before the output projection: one value per element (Qwen3-Next) or
/// one per head (Step, MiMo).
enum class OutputGate { none, elementwise, headwise };
template <>
struct EnumNames<OutputGate> {
  static constexpr std::array<std::string_view, 3> kNames = {"none", "elementwise", "headwise"};
};

/// Whose keys and values a layer reads: its own, or the cache of an earlier layer (Gemma 3n/4), for
/// which it stores nothing and has no K and V projections.
enum class KvOwner { self, earlier_layer };
template <>
struct EnumNames<KvOwner> {
  static constexpr std::array<std::string_view, 2> kNames = {"self", "earlier_layer"};
};

/// Heads and projections shared by all kinds of grouped-query attention. MHA is n_kv_heads ==
/// n_heads and MQA is n_kv_heads == 1.
struct GqaShape {
  std::int64_t n_heads = 0;
  std::int64_t n_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t v_head_dim = 0;  // 0: as head_dim
  QkNorm qk_norm = QkNorm::none;
  OutputGate output_gate = OutputGate::none;
  KvOwner kv_owner = KvOwner::self;
  bool qkv_bias = false;
  bool o_bias = false;
  bool sinks = false;              // one learned sink per head (gpt-oss)
  bool shared_kv_weights = false;  // V is projected by K's matrix (Gemma 4); the cache keeps both

  bool operator==(const GqaShape&) const = default;

  double value_dim() const { return static_cast<double>(v_head_dim == 0 ? head_dim : v_head_dim); }

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    field("n_heads", self.n_heads);
    field("n_kv_heads", self.n_kv_heads);
    field("head_dim", self.head_dim);
    field("v_head_dim", self.v_head_dim, Presence::optional, 0);
    field("qk_norm", self.qk_norm);
    field("output_gate", self.output_gate);
    field("kv_owner", self.kv_owner);
    field("qkv_bias", self.qkv_bias);
    field("o_bias", self.o_bias);
    field("sinks", self.sinks);
    field("shared_kv_weights", self.shared_kv_weights);
  }
};

/// Parameters of the Q, K, V, gate and output projections with norms and biases.
MixerParameters parameters(const GqaShape& shape, double hidden_dim);

/// Elements of K and V per token that the layer stores itself.
CacheElements stored_per_token(const GqaShape& shape);

/// The cache splits over at most its key-value heads; further ranks hold copies.
inline CacheShards kv_head_shards(const GqaShape& shape, double tp) {
  return {.kv = std::min(tp, static_cast<double>(shape.n_kv_heads))};
}

/// Appends projections, cache write and attention for a cache of which each sequence reads
/// `tokens_read` tokens and whose queries see `pairs` query-key pairs per sequence. FLOPs of
/// attention: 2 * heads * (head_dim + v_head_dim) per pair.
void append_gqa(const GqaShape& shape, double tokens_read, double pairs, OperatorBuilder& builder);

/// The two halves of `append_gqa`, for kinds that put an indexer between them.
void append_qkv(const GqaShape& shape, OperatorBuilder& builder);
void append_attention_and_output(const GqaShape& shape, double tokens_read, double pairs,
                                 OperatorBuilder& builder);

}  // namespace roofcast
