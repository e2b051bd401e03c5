#include <fmt/format.h>

#include "model/architecture/hf_families.hpp"

namespace roofcast::detail {
namespace {

constexpr auto kEveryLayer = [](std::int64_t) { return true; };

/// Pattern of `period` layers of which the last is global.
std::function<bool(std::int64_t)> local_but_each(std::int64_t period) {
  return [period](std::int64_t i) { return (i + 1) % period != 0; };
}

/// Windows of classes whose `sliding_window` alone decides: all layers slide when it is a number.
MixerPerLayer window_if_given(HfModel& model, const GqaShape& shape) {
  if (const auto window = model.text.optional_integer("sliding_window", kMaxCount))
    return read_local_global(model, shape, *window, kEveryLayer);
  read_layer_types(model, {"full_attention"});
  return every_layer(model, "attention", GroupedQueryAttention{shape});
}

void build_dense(HfModel& model, const MixerPerLayer& mixers, const DenseFfn& ffn) {
  build_layers(model, mixers, every_layer(model, "dense", ffn));
}

}  // namespace

MixerPerLayer read_qwen_windows(HfModel& model, const GqaShape& shape) {
  HfReader& text = model.text;
  const bool slides = text.boolean_or("use_sliding_window", false);
  if (!slides) {
    for (const std::string_view key : {"sliding_window", "max_window_layers"})
      if (text.has(key)) text.ignored(key, "use_sliding_window is false");
    read_layer_types(model, {"full_attention"});
    return every_layer(model, "attention", GroupedQueryAttention{shape});
  }
  const std::int64_t window = text.integer_or("sliding_window", 4096, kMaxCount, 1);
  const std::int64_t first = text.integer_or("max_window_layers", 28, kMaxHfLayers);
  return read_local_global(model, shape, window, [first](std::int64_t i) { return i >= first; });
}

void read_llama(HfModel& model) {
  read_base(model);
  const GqaShape shape = read_gqa(model);
  build_dense(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
              read_dense(model, "intermediate_size", FfnForm::gated, "mlp_bias"));
}

void read_mistral(HfModel& model) {
  read_base(model);
  const GqaShape shape = read_gqa(model, {.n_kv_heads = 8, .bias = BiasRule::none});
  build_dense(model, window_if_given(model, shape), read_dense(model));
}

void read_qwen2(HfModel& model) {
  read_base(model);
  const GqaShape shape = read_gqa(model, {.bias = BiasRule::qkv});
  build_dense(model, read_qwen_windows(model, shape), read_dense(model));
}

void read_qwen3(HfModel& model) {
  read_base(model);
  const GqaShape shape = read_gqa(model, {.head_dim = 128, .qk_norm = QkNorm::head});
  build_dense(model, read_qwen_windows(model, shape), read_dense(model));
}

void read_gemma(HfModel& model) {
  read_base(model, {.tied = true});
  const GqaShape shape = read_gqa(model, {.head_dim = 256});
  build_dense(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
              read_dense(model));
}

void read_gemma2(HfModel& model) {
  read_base(model, {.tied = true, .norms_per_block = 2});
  const GqaShape shape = read_gqa(model, {.head_dim = 256, .n_kv_heads = 4});
  const std::int64_t window = model.text.integer_or("sliding_window", 4096, kMaxCount, 1);
  build_dense(model, read_local_global(model, shape, window, local_but_each(2)), read_dense(model));
}

void read_gemma3(HfModel& model) {
  // Published multimodal configs leave out whatever equals the class's defaults.
  read_base(model, {.tied = true,
                    .norms_per_block = 2,
                    .vocab_size = model.text.path().empty() ? 262144 : 262208,
                    .max_context = 131072});
  const GqaShape shape =
      read_gqa(model, {.head_dim = 256, .n_heads = 8, .n_kv_heads = 4, .qk_norm = QkNorm::head});
  const std::int64_t window = model.text.integer_or("sliding_window", 4096, kMaxCount, 1);
  const std::string_view key =
      model.text.first_of({"sliding_window_pattern", "_sliding_window_pattern"});
  const std::int64_t period = model.text.has("layer_types") && !model.text.has(key)
                                  ? 1
                                  : model.text.integer_or(key, 6, kMaxHfLayers, 1);
  build_dense(model, read_local_global(model, shape, window, local_but_each(period)),
              read_dense(model));
}

void read_phi3(HfModel& model) {
  read_base(model);
  const GqaShape shape = read_gqa(model, {.bias = BiasRule::none});
  build_dense(model, window_if_given(model, shape), read_dense(model));
}

void read_glm(HfModel& model) {
  read_base(model);
  const GqaShape shape = read_gqa(
      model, {.head_dim = 128, .n_kv_heads = 2, .bias_on_output = false, .bias_default = true});
  build_dense(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
              read_dense(model));
}

void read_glm4(HfModel& model) {
  read_base(model, {.norms_per_block = 2});
  const GqaShape shape =
      read_gqa(model, {.head_dim = 128, .n_kv_heads = 2, .bias_on_output = false});
  build_dense(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
              read_dense(model));
}

void read_olmo2(HfModel& model) {
  read_base(model);
  const GqaShape shape = read_gqa(model, {.qk_norm = QkNorm::full});
  build_dense(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
              read_dense(model));
}

void read_olmo3(HfModel& model) {
  read_base(model);
  const GqaShape shape = read_gqa(model, {.qk_norm = QkNorm::full});
  const std::int64_t window = model.text.integer_or("sliding_window", 4096, kMaxCount, 1);
  build_dense(model, read_local_global(model, shape, window, local_but_each(4)), read_dense(model));
}

void read_cohere(HfModel& model) {
  read_base(model, {.tied = true, .norm = NormKind::layer_no_bias});
  model.spec.block_order = BlockOrder::parallel_one_norm;
  const bool qk_norm = model.text.boolean_or("use_qk_norm", false);
  const GqaShape shape = read_gqa(model, {.qk_norm = qk_norm ? QkNorm::full : QkNorm::none});
  build_dense(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
              read_dense(model));
}

void read_cohere2(HfModel& model) {
  read_base(model, {.tied = true, .norm = NormKind::layer_no_bias});
  model.spec.block_order = BlockOrder::parallel_one_norm;
  const GqaShape shape = read_gqa(model);
  const std::int64_t window = model.text.integer_or("sliding_window", 4096, kMaxCount, 1);
  const std::string_view key =
      model.text.first_of({"sliding_window_pattern", "_sliding_window_pattern"});
  const std::int64_t period = model.text.integer_or(key, 4, kMaxHfLayers, 1);
  build_dense(model, read_local_global(model, shape, window, local_but_each(period)),
              read_dense(model));
}

void read_smollm3(HfModel& model) {
  read_base(model, {.tied = true});
  const GqaShape shape = read_gqa(model, {.n_kv_heads = 4});
  for (const std::string_view key : {"no_rope_layers", "no_rope_layer_interval"})
    if (model.text.has(key))
      model.text.ignored(key, "layers without rotary embedding hold and read the same bytes");
  build_dense(model, read_qwen_windows(model, shape),
              read_dense(model, "intermediate_size", FfnForm::gated, "mlp_bias"));
}

void read_exaone4(HfModel& model) {
  HfReader& text = model.text;
  read_base(model);
  const GqaShape shape = read_gqa(model, {.bias = BiasRule::none, .qk_norm = QkNorm::head});
  const auto window = text.optional_integer("sliding_window", kMaxCount);
  if (!window) {
    if (text.has("sliding_window_pattern"))
      text.ignored("sliding_window_pattern", "sliding_window is null");
    read_layer_types(model, {"full_attention"});
    return build_dense(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
                       read_dense(model));
  }
  // "LLLG": three local layers, then a global one; or the length of such a cycle.
  std::int64_t period = 4;
  const Value* pattern = text.node().find("sliding_window_pattern");
  if (pattern != nullptr && pattern->is_scalar() && pattern->quoted_text) {
    const std::string letters = text.string("sliding_window_pattern");
    if (letters.find_last_not_of('L') != letters.size() - 1 || letters.back() != 'G')
      text.refuse("sliding_window_pattern",
                  fmt::format("expected L's and one G at the end, got {}", in_quotes(letters)));
    period = static_cast<std::int64_t>(letters.size());
  } else {
    period = text.integer_or("sliding_window_pattern", 4, kMaxHfLayers, 1);
  }
  build_dense(model, read_local_global(model, shape, *window, local_but_each(period)),
              read_dense(model));
}

void read_seed_oss(HfModel& model) {
  read_base(model);
  GqaShape shape =
      read_gqa(model, {.head_dim = 128, .bias_on_output = false, .bias_default = true});
  shape.o_bias = model.text.boolean_or("attention_out_bias", false);
  build_dense(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
              read_dense(model, "intermediate_size", FfnForm::gated, "mlp_bias"));
}

void read_internlm2(HfModel& model) {
  read_base(model);
  GqaShape shape = read_gqa(model, {.bias = BiasRule::none});
  shape.qkv_bias = shape.o_bias = model.text.boolean_or("bias", false);
  build_dense(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
              read_dense(model));
}

void read_nemotron(HfModel& model) {
  read_base(model, {.norm = NormKind::layer});
  const GqaShape shape = read_gqa(model);
  build_dense(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
              read_dense(model, "intermediate_size", FfnForm::plain, "mlp_bias"));
}

void read_arcee(HfModel& model) {
  read_base(model);
  const GqaShape shape = read_gqa(model);
  build_dense(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
              read_dense(model, "intermediate_size", FfnForm::plain, "mlp_bias"));
}

void read_ernie4_5(HfModel& model) {
  read_base(model, {.tied = true});
  GqaShape shape = read_gqa(model, {.head_dim = 128, .bias = BiasRule::none});
  DenseFfn ffn = read_dense(model);
  shape.qkv_bias = shape.o_bias = ffn.bias = model.text.boolean_or("use_bias", false);
  build_dense(model, every_layer(model, "attention", GroupedQueryAttention{shape}), ffn);
}

}  // namespace roofcast::detail
