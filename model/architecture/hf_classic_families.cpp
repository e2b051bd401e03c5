#include "model/architecture/hf_families.hpp"

namespace roofcast::detail {
namespace {

constexpr BaseKeys kGpt2Keys{"n_embd", "n_layer", "n_head", "n_positions"};

void build_same(HfModel& model, const GqaShape& shape, const DenseFfn& ffn) {
  build_layers(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
               every_layer(model, "dense", ffn));
}

/// Width of a plain block that older classes leave at four times the hidden size.
DenseFfn read_plain(HfModel& model, std::string_view key, bool bias) {
  DenseFfn ffn{.form = FfnForm::plain, .bias = bias};
  if (const auto width = model.text.optional_integer(key)) {
    ffn.ffn_dim = *width;
  } else {
    ffn.ffn_dim = 4 * model.spec.hidden_dim;
    model.text.defaulted(key, std::to_string(ffn.ffn_dim));
  }
  return ffn;
}

/// As many key-value heads as query heads; the class has no key for another number.
GqaShape read_mha(HfModel& model, std::string_view heads_key, bool qkv_bias, bool o_bias) {
  GqaShape shape;
  shape.n_heads = read_heads(model, heads_key);
  shape.n_kv_heads = shape.n_heads;
  shape.head_dim = read_head_dim(model, shape.n_heads, std::nullopt);
  shape.qkv_bias = qkv_bias;
  shape.o_bias = o_bias;
  return shape;
}

}  // namespace

void read_gpt2(HfModel& model) {
  read_base(model, {.tied = true, .norm = NormKind::layer, .max_context = 1024}, kGpt2Keys);
  refuse_if_set(model, "add_cross_attention", "cross-attention is not represented");
  model.spec.position_embeddings = model.spec.max_context;
  GqaShape shape = read_mha(model, "n_head", true, true);
  if (model.text.boolean_or("multi_query", false)) shape.n_kv_heads = 1;
  build_same(model, shape, read_plain(model, "n_inner", true));
}

void read_gptj(HfModel& model) {
  read_base(model, {.norm = NormKind::layer, .max_context = 2048}, kGpt2Keys);
  model.spec.block_order = BlockOrder::parallel_one_norm;
  model.spec.lm_head_bias = true;
  const GqaShape shape = read_mha(model, "n_head", false, false);
  build_same(model, shape, read_plain(model, "n_inner", true));
}

void read_gpt_neox(HfModel& model) {
  read_base(model, {.norm = NormKind::layer});
  if (model.text.boolean_or("use_parallel_residual", true))
    model.spec.block_order = BlockOrder::parallel_two_norms;
  const bool bias = model.text.boolean_or("attention_bias", true);
  const GqaShape shape = read_mha(model, "num_attention_heads", bias, bias);
  build_same(model, shape, read_plain(model, "intermediate_size", true));
}

void read_opt(HfModel& model) {
  HfReader& text = model.text;
  read_base(model, {.tied = true, .norm = NormKind::layer, .max_context = 2048});
  const std::int64_t width = text.integer_or("word_embed_proj_dim", model.spec.hidden_dim);
  if (width != model.spec.hidden_dim)
    text.refuse("word_embed_proj_dim", "embeddings narrower than the model are not represented");
  model.spec.position_embeddings = model.spec.max_context + 2;  // two rows of offset
  const bool bias = text.boolean_or("enable_bias", true);
  const GqaShape shape = read_mha(model, "num_attention_heads", bias, bias);
  DenseFfn ffn{.ffn_dim = text.integer("ffn_dim"), .form = FfnForm::plain, .bias = bias};
  build_same(model, shape, ffn);
}

void read_falcon(HfModel& model) {
  HfReader& text = model.text;
  const BaseKeys keys{text.first_of({"hidden_size", "n_embed"}),
                      text.first_of({"num_hidden_layers", "n_layer"}),
                      text.first_of({"num_attention_heads", "n_head"})};
  read_base(model, {.tied = true, .norm = NormKind::layer, .max_context = 2048}, keys);
  const bool bias = text.boolean_or("bias", false);
  GqaShape shape = read_mha(model, keys.heads, bias, bias);
  const bool grouped = text.boolean_or("new_decoder_architecture", false);
  const bool single = text.boolean_or("multi_query", true);
  const bool two_norms = text.integer_or("num_ln_in_parallel_attn", grouped ? 2 : 1, 2, 1) == 2;
  if (grouped || text.boolean_or("parallel_attn", true))
    model.spec.block_order =
        grouped && two_norms ? BlockOrder::parallel_two_norms : BlockOrder::parallel_one_norm;
  const std::string_view kv_key = text.first_of({"num_kv_heads", "n_head_kv"});
  if (grouped)
    shape.n_kv_heads = text.integer_or(kv_key, shape.n_heads, shape.n_heads, 1);
  else if (single)
    shape.n_kv_heads = 1;
  if (!grouped && text.has(kv_key)) text.ignored(kv_key, "only read with new_decoder_architecture");
  build_same(model, shape, read_plain(model, "ffn_hidden_size", bias));
}

void read_phi(HfModel& model) {
  read_base(model, {.norm = NormKind::layer});
  refuse_if_set(model, "qk_layernorm",
                "layer norms with bias on queries and keys are not represented");
  model.spec.block_order = BlockOrder::parallel_one_norm;
  model.spec.lm_head_bias = true;
  const GqaShape shape = read_gqa(model, {.bias = BiasRule::all});
  build_same(model, shape, read_plain(model, "intermediate_size", true));
}

void read_starcoder2(HfModel& model) {
  HfReader& text = model.text;
  read_base(model, {.tied = true, .norm = NormKind::layer});
  const bool bias = text.boolean_or("use_bias", true);
  GqaShape shape = read_gqa(model, {.n_kv_heads = 2, .bias = BiasRule::none});
  shape.qkv_bias = shape.o_bias = bias;
  const DenseFfn ffn = read_plain(model, "intermediate_size", bias);
  const auto window = text.optional_integer("sliding_window", kMaxCount);
  if (!window) return build_same(model, shape, ffn);
  build_layers(model, every_layer(model, "local", SlidingWindowAttention{shape, *window}),
               every_layer(model, "dense", ffn));
}

void read_stablelm(HfModel& model) {
  read_base(model, {.norm = NormKind::layer});
  refuse_if_set(model, "qk_layernorm", "one layer norm per head is not represented");
  if (model.text.boolean_or("use_parallel_residual", false))
    model.spec.block_order = BlockOrder::parallel_one_norm;
  GqaShape shape = read_gqa(model, {.bias = BiasRule::none});
  shape.qkv_bias = model.text.boolean_or("use_qkv_bias", false);
  build_same(model, shape, read_dense(model));
}

}  // namespace roofcast::detail
