#include <fmt/format.h>

#include <algorithm>

#include "model/architecture/hf_families.hpp"

namespace roofcast::detail {
namespace {

/// What the letters of a Nemotron-H pattern stand for.
struct NemotronParts {
  NamedMixer mamba;
  NamedMixer attention;
  NamedFfn dense;
  NamedFfn moe;
};

struct PatternLayer {
  NamedMixer mixer{"none", NoMixer{}};
  NamedFfn ffn{"none", NoFfn{}};
};

Mamba2 read_nemotron_mamba(HfModel& model) {
  HfReader& text = model.text;
  for (const std::string_view key : {"mamba_proj_bias", "use_bias", "mlp_bias", "attention_bias"})
    refuse_if_set(model, key, "biases of these layers are not represented");
  return {.n_heads = text.integer("mamba_num_heads"),
          .head_dim = text.integer("mamba_head_dim"),
          .n_groups = text.integer("n_groups"),
          .state_dim = text.integer("ssm_state_size"),
          .conv_kernel = text.integer("conv_kernel", 1024),
          .conv_bias = text.boolean_or("use_conv_bias", true)};
}

GroupedQueryAttention read_nemotron_attention(HfModel& model) {
  HfReader& text = model.text;
  GqaShape shape;
  shape.n_heads = read_heads(model, "num_attention_heads");
  shape.n_kv_heads = text.integer_or("num_key_value_heads", 8, shape.n_heads, 1);
  shape.head_dim =
      read_head_dim(model, shape.n_heads, 128, text.first_of({"head_dim", "attention_head_dim"}));
  return {shape};
}

MoeFfn read_nemotron_experts(HfModel& model) {
  HfReader& text = model.text;
  MoeFfn moe = read_experts(model, {"n_routed_experts"}, {"moe_intermediate_size"});
  moe.form = FfnForm::plain;
  moe.router_bias = true;
  moe.n_shared_experts = text.integer_or("n_shared_experts", 1, 1024);
  if (moe.n_shared_experts > 0)
    moe.shared_expert_dim = text.integer("moe_shared_expert_intermediate_size");
  if (text.has("moe_latent_size")) moe.latent_dim = text.integer("moe_latent_size");
  return moe;
}

NemotronParts read_nemotron_parts(HfModel& model, std::string_view letters) {
  NemotronParts parts;
  const auto uses = [letters](char c) { return letters.find(c) != std::string_view::npos; };
  parts.mamba = {"mamba", read_nemotron_mamba(model)};
  if (uses('*')) parts.attention = {"attention", read_nemotron_attention(model)};
  if (uses('-'))
    parts.dense = {"dense", read_dense(model, "intermediate_size", FfnForm::plain)};
  else if (model.text.has("intermediate_size"))
    model.text.ignored("intermediate_size", "no layer has a dense feed-forward block");
  if (uses('E')) parts.moe = {"moe", read_nemotron_experts(model)};
  return parts;
}

std::vector<PatternLayer> expand(const HfReader& text, std::string_view key,
                                 const std::string& letters, const NemotronParts& parts) {
  std::vector<PatternLayer> layers;
  for (const char letter : letters) {
    PatternLayer layer;
    if (letter == 'M')
      layer.mixer = parts.mamba;
    else if (letter == '*')
      layer.mixer = parts.attention;
    else if (letter == '-')
      layer.ffn = parts.dense;
    else if (letter == 'E')
      layer.ffn = parts.moe;
    else
      text.refuse(key, fmt::format("expected the letters M, *, - and E, got {}",
                                   in_quotes(std::string(1, letter))));
    layers.push_back(layer);
  }
  return layers;
}

/// MTP blocks that follow a pattern of their own: not like the last layer, so counted here. Each
/// has the two norms and the projection that join hidden state and embedding.
void add_pattern_mtp(HfModel& model, const std::vector<PatternLayer>& layers) {
  const auto hidden = static_cast<double>(model.spec.hidden_dim);
  const std::int64_t blocks = model.text.integer_or("num_nextn_predict_layers", 0, 64);
  if (blocks == 0) return;
  double params = 2.0 * hidden * hidden + 3.0 * hidden;
  for (const PatternLayer& layer : layers) {
    params += hidden;
    std::visit([&](const auto& kind) { params += kind.parameters(hidden).total(); },
               layer.mixer.kind);
    std::visit([&](const auto& kind) { params += kind.parameters(hidden).total(); },
               layer.ffn.kind);
  }
  model.spec.resident.push_back({"mtp", params * static_cast<double>(blocks)});
}

}  // namespace

void read_nemotron_h(HfModel& model) {
  HfReader& text = model.text;
  read_base(model);
  constexpr std::string_view kPattern = "hybrid_override_pattern";
  const std::string letters = text.string(kPattern);
  if (letters.size() != static_cast<std::size_t>(model.n_layers))
    text.fail(kPattern, fmt::format("expected {} letters, one per layer, got {}", model.n_layers,
                                    letters.size()));
  const std::string mtp = text.optional_string("mtp_hybrid_override_pattern").value_or("");
  const NemotronParts parts = read_nemotron_parts(model, letters + mtp);
  MixerPerLayer mixers;
  FfnPerLayer ffns;
  for (const PatternLayer& layer : expand(text, kPattern, letters, parts)) {
    mixers.push_back(layer.mixer);
    ffns.push_back(layer.ffn);
  }
  add_pattern_mtp(model, expand(text, "mtp_hybrid_override_pattern", mtp, parts));
  build_layers(model, mixers, ffns);
}

void read_granite_hybrid(HfModel& model) {
  HfReader& text = model.text;
  read_base(model);
  const GqaShape shape = read_gqa(model);
  refuse_if_set(model, "mamba_proj_bias", "biases of these layers are not represented");
  const Mamba2 mamba{.n_heads = text.integer("mamba_n_heads"),
                     .head_dim = text.integer("mamba_d_head"),
                     .n_groups = text.integer("mamba_n_groups"),
                     .state_dim = text.integer("mamba_d_state"),
                     .conv_kernel = text.integer("mamba_d_conv", 1024),
                     .conv_bias = text.boolean_or("mamba_conv_bias", true)};
  const auto kinds = read_layer_types(model, {"mamba", "attention"});
  if (kinds.empty()) text.fail("layer_types", "missing, expected this key");
  MixerPerLayer mixers;
  for (const std::string& kind : kinds)
    mixers.push_back(kind == "mamba" ? NamedMixer{"mamba", mamba}
                                     : NamedMixer{"attention", GroupedQueryAttention{shape}});
  const std::int64_t shared = text.integer("shared_intermediate_size");
  if (text.integer_or("num_local_experts", 0) == 0) {
    for (const std::string_view key : {"intermediate_size", "num_experts_per_tok"})
      if (text.has(key)) text.ignored(key, "the model has no routed experts");
    return build_layers(model, mixers, every_layer(model, "dense", DenseFfn{.ffn_dim = shared}));
  }
  MoeFfn moe = read_experts(model, {"num_local_experts"}, {"intermediate_size"});
  moe.n_shared_experts = 1;
  moe.shared_expert_dim = shared;
  build_layers(model, mixers, every_layer(model, "moe", moe));
}

void read_mamba2(HfModel& model) {
  HfReader& text = model.text;
  read_base(model);
  refuse_if_set(model, "use_bias", "biases of these layers are not represented");
  const Mamba2 mamba{.n_heads = text.integer("num_heads"),
                     .head_dim = text.integer("head_dim"),
                     .n_groups = text.integer("n_groups"),
                     .state_dim = text.integer("state_size"),
                     .conv_kernel = text.integer("conv_kernel", 1024),
                     .conv_bias = text.boolean_or("use_conv_bias", true)};
  build_layers(model, every_layer(model, "mamba", mamba), every_layer(model, "none", NoFfn{}));
}

}  // namespace roofcast::detail
