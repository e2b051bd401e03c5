#include <fmt/format.h>

#include <algorithm>

#include "model/architecture/hf_families.hpp"

namespace roofcast::detail {
namespace {

/// Layer kinds by index from `layer_types`, else from `otherwise`.
std::vector<std::string> layer_kinds(HfModel& model, const std::vector<std::string>& allowed,
                                     const std::function<std::string(std::int64_t)>& otherwise) {
  std::vector<std::string> kinds = read_layer_types(model, allowed);
  if (!kinds.empty()) return kinds;
  for (std::int64_t i = 0; i < model.n_layers; ++i) kinds.push_back(otherwise(i));
  return kinds;
}

MixerPerLayer read_qwen_hybrid_mixers(HfModel& model) {
  HfReader& text = model.text;
  GqaShape shape = read_gqa(model, {.head_dim = 256, .qk_norm = QkNorm::head});
  if (text.boolean_or("attn_output_gate", true)) shape.output_gate = OutputGate::elementwise;
  const GatedDeltaNet delta{.n_key_heads = text.integer("linear_num_key_heads"),
                            .n_value_heads = text.integer("linear_num_value_heads"),
                            .key_head_dim = text.integer("linear_key_head_dim"),
                            .value_head_dim = text.integer("linear_value_head_dim"),
                            .conv_kernel = text.integer("linear_conv_kernel_dim", 1024)};
  const std::int64_t interval = text.integer_or("full_attention_interval", 4, kMaxHfLayers, 1);
  const auto kinds =
      layer_kinds(model, {"linear_attention", "full_attention"}, [interval](std::int64_t i) {
        return (i + 1) % interval == 0 ? "full_attention" : "linear_attention";
      });
  MixerPerLayer mixers;
  for (const std::string& kind : kinds)
    mixers.push_back(kind == "full_attention" ? NamedMixer{"full", GroupedQueryAttention{shape}}
                                              : NamedMixer{"linear", delta});
  return mixers;
}

MoeFfn read_gated_shared_experts(HfModel& model) {
  MoeFfn moe = read_experts(model, {"num_experts"}, {"moe_intermediate_size"});
  moe.shared_expert_dim = model.text.integer_or("shared_expert_intermediate_size", 0);
  moe.n_shared_experts = moe.shared_expert_dim > 0 ? 1 : 0;
  moe.shared_gate = moe.n_shared_experts > 0;
  return moe;
}

/// Depth that the last dense-or-not rule gives: LFM2 narrows its blocks by two thirds and rounds up
/// (modeling_lfm2.py, Lfm2MLP).
std::int64_t lfm2_width(HfModel& model) {
  HfReader& text = model.text;
  std::int64_t width = text.integer(text.first_of({"block_ff_dim", "intermediate_size"}));
  if (!text.boolean_or("block_auto_adjust_ff_dim", true)) return width;
  width = 2 * width / 3;
  if (text.has("block_ffn_dim_multiplier"))
    width = static_cast<std::int64_t>(text.number("block_ffn_dim_multiplier", 0.01, 100.0) *
                                      static_cast<double>(width));
  const std::int64_t multiple = text.integer_or("block_multiple_of", 256, kMaxHfDimension, 1);
  width = (width + multiple - 1) / multiple * multiple;
  text.derived("feed_forward_width", std::to_string(width));
  return width;
}

MixerPerLayer read_lfm2_mixers(HfModel& model) {
  HfReader& text = model.text;
  const GqaShape shape = read_gqa(model, {.bias = BiasRule::none, .qk_norm = QkNorm::head});
  const ShortConvolution conv{.conv_dim = model.spec.hidden_dim,
                              .conv_kernel = text.integer("conv_L_cache", 1024),
                              .bias = text.boolean_or("conv_bias", false)};
  const auto full = text.integers("full_attn_idxs", model.n_layers - 1);
  const auto kinds = layer_kinds(model, {"conv", "full_attention"}, [&full](std::int64_t i) {
    return full.empty() || std::find(full.begin(), full.end(), i) != full.end() ? "full_attention"
                                                                                : "conv";
  });
  MixerPerLayer mixers;
  for (const std::string& kind : kinds)
    mixers.push_back(kind == "conv" ? NamedMixer{"conv", conv}
                                    : NamedMixer{"attention", GroupedQueryAttention{shape}});
  return mixers;
}

BaseTraits lfm2_base(HfModel& model) {
  // Older files say tie_embedding.
  return {.tied = model.text.boolean_or("tie_embedding", true)};
}

}  // namespace

void read_qwen3_next(HfModel& model) {
  read_base(model);
  const MixerPerLayer mixers = read_qwen_hybrid_mixers(model);
  build_layers(model, mixers, read_qwen_ffn(model, read_gated_shared_experts(model)));
}

void read_qwen3_5(HfModel& model) {
  HfReader& text = model.text;
  read_base(model);
  const MixerPerLayer mixers = read_qwen_hybrid_mixers(model);
  model.spec.mtp_layers = text.integer_or("mtp_num_hidden_layers", 0, 64);
  if (text.boolean_or("mtp_use_dedicated_embeddings", false))
    text.refuse("mtp_use_dedicated_embeddings", "embeddings of MTP blocks are not represented");
  const bool experts =
      text.has("num_experts") && text.integer("num_experts", kMaxHfDimension, 0) > 0;
  build_layers(model, mixers,
               experts ? read_qwen_ffn(model, read_gated_shared_experts(model))
                       : every_layer(model, "dense", read_dense(model)));
}

void read_lfm2(HfModel& model) {
  read_base(model, lfm2_base(model));
  const MixerPerLayer mixers = read_lfm2_mixers(model);
  build_layers(model, mixers, every_layer(model, "dense", DenseFfn{.ffn_dim = lfm2_width(model)}));
}

void read_lfm2_moe(HfModel& model) {
  HfReader& text = model.text;
  read_base(model, lfm2_base(model));
  const MixerPerLayer mixers = read_lfm2_mixers(model);
  MoeFfn moe = read_experts(model, {"num_experts"}, {"moe_intermediate_size"});
  moe.router_bias = text.boolean_or("use_expert_bias", true);
  const std::int64_t first = text.integer_or("num_dense_layers", 2, model.n_layers);
  build_layers(model, mixers, mixed_ffn(model, read_dense(model), moe, [first](std::int64_t i) {
                 return i >= first;
               }));
}

void read_kimi_linear(HfModel& model) {
  HfReader& text = model.text;
  read_base(model);
  MlaShape shape = read_mla_shape(model);
  if (text.boolean_or("mla_use_output_gate", false)) shape.output_gate = OutputGate::elementwise;
  auto linear = text.optional_child("linear_attn_config");
  if (!linear) text.fail("linear_attn_config", "missing, expected this key");
  const KimiDeltaAttention kda{.n_heads = linear->integer("num_heads"),
                               .head_dim = linear->integer("head_dim"),
                               .conv_kernel = linear->integer("short_conv_kernel_size", 1024),
                               .full_rank_gate = linear->boolean_or("use_full_rank_gate", false)};
  // Both lists count layers from one and must name each layer once.
  const auto full = linear->integers("full_attn_layers", model.n_layers, 1);
  const auto delta = linear->integers("kda_layers", model.n_layers, 1);
  std::vector<int> named(static_cast<std::size_t>(model.n_layers), 0);
  MixerPerLayer mixers = every_layer(model, "kda", kda);
  for (const std::int64_t layer : delta) ++named[static_cast<std::size_t>(layer - 1)];
  for (const std::int64_t layer : full) {
    ++named[static_cast<std::size_t>(layer - 1)];
    mixers[static_cast<std::size_t>(layer - 1)] = {"mla", MultiHeadLatentAttention{shape}};
  }
  if (std::any_of(named.begin(), named.end(), [](int times) { return times != 1; }))
    linear->fail("kda_layers", "expected each layer once in kda_layers or full_attn_layers");
  model.spec.mtp_layers = text.integer_or("num_nextn_predict_layers", 0, 64);
  const FfnPerLayer ffns = read_deepseek_ffn(model);
  build_layers(model, mixers, ffns);
}

/// `attn_type_list` holds 1 for softmax and 0 for lightning attention.
void read_minimax_text(HfModel& model) {
  HfReader& text = model.text;
  read_base(model);
  const GqaShape shape = read_gqa(model, {.bias = BiasRule::none});
  const auto types = text.integers("attn_type_list", 1);
  if (!types.empty() && types.size() != static_cast<std::size_t>(model.n_layers))
    text.fail("attn_type_list", fmt::format("expected {} entries, one per layer, got {}",
                                            model.n_layers, types.size()));
  const auto kinds =
      layer_kinds(model, {"linear_attention", "full_attention"}, [&](std::int64_t i) {
        if (types.empty()) text.fail("attn_type_list", "missing, expected this key");
        return types[static_cast<std::size_t>(i)] == 1 ? "full_attention" : "linear_attention";
      });
  MixerPerLayer mixers;
  for (const std::string& kind : kinds)
    mixers.push_back(
        kind == "full_attention"
            ? NamedMixer{"full", GroupedQueryAttention{shape}}
            : NamedMixer{"lightning", LightningAttention{shape.n_heads, shape.head_dim}});
  MoeFfn moe = read_experts(model, {"num_local_experts"}, {"intermediate_size"});
  moe.shared_expert_dim = text.integer_or("shared_intermediate_size", 0);
  moe.n_shared_experts = moe.shared_expert_dim > 0 ? 1 : 0;
  build_layers(model, mixers, every_layer(model, "moe", moe));
}

}  // namespace roofcast::detail
