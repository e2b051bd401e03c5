#include "model/reference/checkpoint/tensor_lists.hpp"

namespace roofcast::detail {

using Parts = LayerParts;
using Shape = TensorShape;

Shape vocabulary(const Parts& p) { return {p.spec->vocab_size, p.spec->hidden_dim}; }
Shape untied_vocabulary(const Parts& p) {
  return p.spec->tied_embeddings ? Shape{} : vocabulary(p);
}
Shape hidden(const Parts& p) { return {p.spec->hidden_dim}; }
Shape attn_norm(const Parts& p) {
  return p.gqa != nullptr || p.mla != nullptr || p.delta != nullptr ? hidden(p) : Shape{};
}
Shape ffn_norm(const Parts& p) {
  return p.dense != nullptr || p.moe != nullptr ? hidden(p) : Shape{};
}
Shape queries(const Parts& p) {
  return p.gqa == nullptr ? Shape{} : Shape{p.gqa->n_heads * p.gqa->head_dim, p.spec->hidden_dim};
}
Shape keys(const Parts& p) {
  if (p.gqa == nullptr) return {};
  return {p.gqa->n_kv_heads * p.gqa->head_dim, p.spec->hidden_dim};
}
Shape attn_out(const Parts& p) {
  return p.gqa == nullptr ? Shape{} : Shape{p.spec->hidden_dim, p.gqa->n_heads * p.gqa->head_dim};
}
Shape dense_in(const Parts& p) {
  return p.dense == nullptr ? Shape{} : Shape{p.dense->ffn_dim, p.spec->hidden_dim};
}
Shape dense_out(const Parts& p) {
  return p.dense == nullptr ? Shape{} : Shape{p.spec->hidden_dim, p.dense->ffn_dim};
}

namespace {

Shape q_bias(const Parts& p) {
  return p.gqa != nullptr && p.gqa->qkv_bias ? Shape{p.gqa->n_heads * p.gqa->head_dim} : Shape{};
}
Shape kv_bias(const Parts& p) {
  return p.gqa != nullptr && p.gqa->qkv_bias ? Shape{p.gqa->n_kv_heads * p.gqa->head_dim} : Shape{};
}
Shape attn_out_bias(const Parts& p) {
  return p.gqa != nullptr && p.gqa->o_bias ? hidden(p) : Shape{};
}
Shape head_norm(const Parts& p) {
  return p.gqa != nullptr && p.gqa->qk_norm == QkNorm::head ? Shape{p.gqa->head_dim} : Shape{};
}
Shape sinks(const Parts& p) {
  return p.gqa != nullptr && p.gqa->sinks ? Shape{p.gqa->n_heads} : Shape{};
}
Shape dense_in_bias(const Parts& p) {
  return p.dense != nullptr && p.dense->bias ? Shape{p.dense->ffn_dim} : Shape{};
}
Shape dense_out_bias(const Parts& p) {
  return p.dense != nullptr && p.dense->bias ? hidden(p) : Shape{};
}

constexpr TensorRule kDecoder[] = {
    {Tensor::embedding, "model.embed_tokens.weight", vocabulary},
    {Tensor::lm_head, "lm_head.weight", untied_vocabulary},
    {Tensor::final_norm, "model.norm.weight", hidden},
    {Tensor::attn_norm, "model.layers.{layer}.input_layernorm.weight", attn_norm},
};

constexpr TensorRule kFfnNorm[] = {
    {Tensor::ffn_norm, "model.layers.{layer}.post_attention_layernorm.weight", ffn_norm},
};

constexpr TensorRule kThreeNorms[] = {
    {Tensor::attn_post_norm, "model.layers.{layer}.post_attention_layernorm.weight", attn_norm},
    {Tensor::ffn_norm, "model.layers.{layer}.pre_feedforward_layernorm.weight", ffn_norm},
    {Tensor::ffn_post_norm, "model.layers.{layer}.post_feedforward_layernorm.weight", ffn_norm},
};

constexpr TensorRule kQueries[] = {
    {Tensor::q, "model.layers.{layer}.self_attn.q_proj.weight", queries},
    {Tensor::q_bias, "model.layers.{layer}.self_attn.q_proj.bias", q_bias},
};

constexpr TensorRule kKeyValue[] = {
    {Tensor::k, "model.layers.{layer}.self_attn.k_proj.weight", keys},
    {Tensor::v, "model.layers.{layer}.self_attn.v_proj.weight", keys},
    {Tensor::attn_out, "model.layers.{layer}.self_attn.o_proj.weight", attn_out},
    {Tensor::k_bias, "model.layers.{layer}.self_attn.k_proj.bias", kv_bias},
    {Tensor::v_bias, "model.layers.{layer}.self_attn.v_proj.bias", kv_bias},
    {Tensor::attn_out_bias, "model.layers.{layer}.self_attn.o_proj.bias", attn_out_bias},
    {Tensor::q_norm, "model.layers.{layer}.self_attn.q_norm.weight", head_norm},
    {Tensor::k_norm, "model.layers.{layer}.self_attn.k_norm.weight", head_norm},
    {Tensor::sinks, "model.layers.{layer}.self_attn.sinks", sinks},
};

constexpr TensorRule kGatedMlp[] = {
    {Tensor::up, "model.layers.{layer}.mlp.up_proj.weight", dense_in},
    {Tensor::gate, "model.layers.{layer}.mlp.gate_proj.weight", dense_in},
    {Tensor::down, "model.layers.{layer}.mlp.down_proj.weight", dense_out},
    {Tensor::up_bias, "model.layers.{layer}.mlp.up_proj.bias", dense_in_bias},
    {Tensor::gate_bias, "model.layers.{layer}.mlp.gate_proj.bias", dense_in_bias},
    {Tensor::down_bias, "model.layers.{layer}.mlp.down_proj.bias", dense_out_bias},
};

}  // namespace

TensorList decoder_tensors() { return kDecoder; }
TensorList ffn_norm_tensors() { return kFfnNorm; }
TensorList three_norm_tensors() { return kThreeNorms; }
TensorList query_tensors() { return kQueries; }
TensorList key_value_tensors() { return kKeyValue; }
TensorList gated_mlp_tensors() { return kGatedMlp; }

}  // namespace roofcast::detail
