#include <fmt/format.h>

#include <algorithm>

#include "model/architecture/hf_families.hpp"

namespace roofcast::detail {

/// A layer has experts unless it is in mlp_only_layers or off the beat of decoder_sparse_step.
FfnPerLayer read_qwen_ffn(HfModel& model, const MoeFfn& moe) {
  HfReader& text = model.text;
  const std::int64_t step = text.integer_or("decoder_sparse_step", 1, kMaxHfLayers, 1);
  const std::vector<std::int64_t> dense_layers =
      text.integers("mlp_only_layers", model.n_layers - 1);
  const auto is_moe = [&](std::int64_t i) {
    const bool listed =
        std::find(dense_layers.begin(), dense_layers.end(), i) != dense_layers.end();
    return !listed && (i + 1) % step == 0;
  };
  bool any_dense = false;
  for (std::int64_t i = 0; i < model.n_layers; ++i) any_dense = any_dense || !is_moe(i);
  if (any_dense) return mixed_ffn(model, read_dense(model), moe, is_moe);
  if (text.has("intermediate_size"))
    text.ignored("intermediate_size", "no layer has a dense feed-forward block");
  return every_layer(model, "moe", moe);
}

MoeFfn read_experts(HfModel& model, std::initializer_list<std::string_view> count_keys,
                    std::initializer_list<std::string_view> width_keys) {
  HfReader& text = model.text;
  MoeFfn moe;
  const std::string_view count_key = text.first_of(count_keys);
  moe.n_experts = text.integer(count_key);
  const std::string_view active_key =
      text.first_of({"num_experts_per_tok", "num_experts_per_token", "experts_per_token",
                     "top_k_experts", "moe_k", "moe_topk"});
  moe.n_experts_per_token = text.integer(active_key);
  if (moe.n_experts_per_token > moe.n_experts)
    text.fail(active_key, fmt::format("expected at most the {} experts, got {}", moe.n_experts,
                                      moe.n_experts_per_token));
  moe.expert_dim = text.integer(text.first_of(width_keys));
  return moe;
}

void read_mixtral(HfModel& model) {
  read_base(model);
  const GqaShape shape = read_gqa(model, {.n_kv_heads = 8, .bias = BiasRule::none});
  const auto window = model.text.optional_integer("sliding_window", kMaxCount);
  const MoeFfn moe = read_experts(model, {"num_local_experts"}, {"intermediate_size"});
  const Mixer mixer =
      window ? Mixer{SlidingWindowAttention{shape, *window}} : Mixer{GroupedQueryAttention{shape}};
  build_layers(model, every_layer(model, window ? "local" : "attention", mixer),
               every_layer(model, "moe", moe));
}

void read_qwen2_moe(HfModel& model) {
  read_base(model);
  GqaShape shape = read_gqa(model, {.bias = BiasRule::none});
  shape.qkv_bias = model.text.boolean_or("qkv_bias", true);
  MoeFfn moe = read_experts(model, {"num_experts"}, {"moe_intermediate_size"});
  moe.n_shared_experts = 1;
  moe.shared_expert_dim = model.text.integer("shared_expert_intermediate_size");
  moe.shared_gate = true;
  build_layers(model, read_qwen_windows(model, shape), read_qwen_ffn(model, moe));
}

void read_qwen3_moe(HfModel& model) {
  read_base(model);
  const GqaShape shape = read_gqa(model, {.qk_norm = QkNorm::head});
  const MoeFfn moe =
      read_experts(model, {"num_experts", "num_local_experts"}, {"moe_intermediate_size"});
  build_layers(model, read_qwen_windows(model, shape), read_qwen_ffn(model, moe));
}

void read_gpt_oss(HfModel& model) {
  read_base(model);
  GqaShape shape = read_gqa(model, {.head_dim = 64, .n_kv_heads = 8, .bias_default = true});
  shape.sinks = true;
  const std::int64_t window = model.text.integer_or("sliding_window", 128, kMaxCount, 1);
  MoeFfn moe = read_experts(model, {"num_local_experts", "num_experts"}, {"intermediate_size"});
  moe.router_bias = moe.expert_bias = true;
  build_layers(model,
               read_local_global(model, shape, window, [](std::int64_t i) { return i % 2 == 0; }),
               every_layer(model, "moe", moe));
}

void read_phimoe(HfModel& model) {
  read_base(model, {.norm = NormKind::layer});
  model.spec.lm_head_bias = model.text.boolean_or("lm_head_bias", false);
  const GqaShape shape = read_gqa(model, {.n_kv_heads = 8});
  const auto window = model.text.optional_integer("sliding_window", kMaxCount);
  const MoeFfn moe = read_experts(model, {"num_local_experts"}, {"intermediate_size"});
  const Mixer mixer =
      window ? Mixer{SlidingWindowAttention{shape, *window}} : Mixer{GroupedQueryAttention{shape}};
  build_layers(model, every_layer(model, window ? "local" : "attention", mixer),
               every_layer(model, "moe", moe));
}

void read_olmoe(HfModel& model) {
  read_base(model);
  const GqaShape shape = read_gqa(model, {.qk_norm = QkNorm::full});
  const MoeFfn moe = read_experts(model, {"num_experts"}, {"intermediate_size"});
  build_layers(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
               every_layer(model, "moe", moe));
}

void read_granitemoe(HfModel& model) {
  read_base(model);
  const GqaShape shape = read_gqa(model);
  MoeFfn moe = read_experts(model, {"num_local_experts"}, {"intermediate_size"});
  moe.shared_expert_dim = model.text.integer_or("shared_intermediate_size", 0);
  moe.n_shared_experts = moe.shared_expert_dim > 0 ? 1 : 0;
  build_layers(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
               every_layer(model, "moe", moe));
}

void read_glm4_moe(HfModel& model) {
  HfReader& text = model.text;
  read_base(model);
  const bool qk_norm = text.boolean_or("use_qk_norm", false);
  const GqaShape shape = read_gqa(model, {.head_dim = 128,
                                          .n_kv_heads = 8,
                                          .bias_on_output = false,
                                          .qk_norm = qk_norm ? QkNorm::head : QkNorm::none});
  MoeFfn moe = read_experts(model, {"n_routed_experts"}, {"moe_intermediate_size"});
  moe.n_shared_experts = text.integer_or("n_shared_experts", 1);
  moe.shared_expert_dim = moe.expert_dim;
  moe.router_bias = true;
  const std::int64_t first = text.integer_or("first_k_dense_replace", 1, model.n_layers);
  model.spec.mtp_layers = text.integer_or("num_nextn_predict_layers", 0, 64);
  build_layers(
      model, every_layer(model, "attention", GroupedQueryAttention{shape}),
      mixed_ffn(model, read_dense(model), moe, [first](std::int64_t i) { return i >= first; }));
}

void read_dots1(HfModel& model) {
  HfReader& text = model.text;
  read_base(model);
  const GqaShape shape = read_gqa(model, {.qk_norm = QkNorm::head});
  MoeFfn moe = read_experts(model, {"n_routed_experts"}, {"moe_intermediate_size"});
  moe.n_shared_experts = text.integer_or("n_shared_experts", 0);
  moe.shared_expert_dim = moe.expert_dim;
  moe.router_bias = true;
  const std::int64_t first = text.integer_or("first_k_dense_replace", 0, model.n_layers);
  build_layers(
      model, every_layer(model, "attention", GroupedQueryAttention{shape}),
      mixed_ffn(model, read_dense(model), moe, [first](std::int64_t i) { return i >= first; }));
}

void read_ernie4_5_moe(HfModel& model) {
  HfReader& text = model.text;
  read_base(model, {.tied = true});
  GqaShape shape = read_gqa(model, {.bias = BiasRule::none});
  DenseFfn dense = read_dense(model);
  shape.qkv_bias = shape.o_bias = dense.bias = text.boolean_or("use_bias", false);
  MoeFfn moe = read_experts(model, {"moe_num_experts"}, {"moe_intermediate_size"});
  moe.n_shared_experts = text.integer_or("moe_num_shared_experts", 0);
  moe.shared_expert_dim = moe.expert_dim;
  moe.router_bias = text.boolean_or("moe_use_aux_free", true);
  const std::int64_t first = text.integer_or("moe_layer_start_index", 1, model.n_layers);
  const std::int64_t last = text.integer_or("moe_layer_end_index", -1, model.n_layers, -1);
  const std::int64_t step = text.integer_or("moe_layer_interval", 1, kMaxHfLayers, 1);
  const std::int64_t end = last < 0 ? model.n_layers - 1 : last;
  model.spec.mtp_layers = text.integer_or("num_nextn_predict_layers", 0, 64);
  build_layers(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
               mixed_ffn(model, dense, moe, [=](std::int64_t i) {
                 return (i + 1) % step == 0 && i >= first && i <= end;
               }));
}

void read_minimax_m2(HfModel& model) {
  HfReader& text = model.text;
  read_base(model);
  const bool normed = text.boolean_or("use_qk_norm", true);
  const std::string kind = text.optional_string("qk_norm_type").value_or("per_layer");
  if (kind != "per_layer" && kind != "per_head")
    text.refuse("qk_norm_type",
                fmt::format("expected per_layer or per_head, got {}", in_quotes(kind)));
  const QkNorm norm = kind == "per_layer" ? QkNorm::full : QkNorm::head;
  const GqaShape shape =
      read_gqa(model, {.bias = BiasRule::none, .qk_norm = normed ? norm : QkNorm::none});
  MoeFfn moe = read_experts(model, {"num_local_experts"}, {"intermediate_size"});
  moe.router_bias = text.boolean_or("use_routing_bias", true);
  moe.shared_expert_dim = text.integer_or("shared_intermediate_size", 0);
  moe.n_shared_experts = moe.shared_expert_dim > 0 ? 1 : 0;
  for (const std::string_view key : {"use_mtp", "num_mtp_modules", "mtp_transformer_layers"})
    if (text.has(key))
      text.ignored(key, "the published checkpoints hold no multi-token-prediction weights");
  build_layers(model, every_layer(model, "attention", GroupedQueryAttention{shape}),
               every_layer(model, "moe", moe));
}

}  // namespace roofcast::detail
