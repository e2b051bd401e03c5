#include <algorithm>
#include <array>
#include <charconv>

#include "model/architecture/tensor_census.hpp"

namespace roofcast {
namespace {

using Words = std::vector<std::string_view>;

/// A name's dot-separated words, the decoder layer taken out.
struct Name {
  Words words;
  std::optional<int> layer;

  /// True when a word equals one of `wanted`.
  bool has(std::initializer_list<std::string_view> wanted) const {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
    });
  }
  bool any_contains(std::string_view part) const {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return word.find(part) != std::string_view::npos;
    });
  }
  bool any_starts(std::string_view part) const {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return word.starts_with(part); });
  }
};

std::optional<int> layer_number(std::string_view word) {
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  if (number < 0 || number >= kMaxCensusLayers) return std::nullopt;
  return number;
}

/// Splits at dots; the number after the first of `layer_words` is the layer.
Name split(std::string_view text, std::initializer_list<std::string_view> layer_words) {
  Name name;
  bool layer_next = false;
  while (!text.empty()) {
    const std::size_t dot = text.find('.');
    const std::string_view word = text.substr(0, dot);
    text.remove_prefix(dot == std::string_view::npos ? text.size() : dot + 1);
    if (layer_next && !name.layer && (name.layer = layer_number(word))) {
      layer_next = false;
      continue;
    }
    layer_next = std::find(layer_words.begin(), layer_words.end(), word) != layer_words.end();
    name.words.push_back(word);
  }
  return name;
}

bool is_norm(const Name& name) {
  return name.any_contains("norm") || name.has({"ln1", "ln2", "ln_1", "ln_2", "ln_f", "ln_x"});
}

TensorComponent gguf_component_in_layer(const Name& name, bool numbered_expert) {
  if (name.any_starts("vis_")) return TensorComponent::vision;
  if (is_norm(name)) return TensorComponent::vectors;
  if (name.any_contains("_shexp") || name.any_contains("ffn_latent"))
    return TensorComponent::shared_experts;
  if (name.any_contains("_exps") || name.any_contains("_chexps"))
    return TensorComponent::routed_experts;
  if (name.has({"ffn_gate_inp", "exp_probs_b"})) return TensorComponent::router;
  if (name.any_starts("ffn"))
    return numbered_expert ? TensorComponent::routed_experts : TensorComponent::dense_ffn;
  // Per-layer embeddings' projections are dense matrices that every token uses.
  if (name.any_starts("channel_mix") || name.has({"inp_gate", "proj"}))
    return TensorComponent::dense_ffn;
  if (name.any_starts("attn") || name.any_starts("ssm_") || name.any_starts("time_mix") ||
      name.has({"shortconv", "indexer"}))
    return TensorComponent::attention;
  return TensorComponent::other;
}

TensorComponent gguf_component_outside(const Name& name) {
  if (name.has({"v", "mm", "a", "resampler"})) return TensorComponent::vision;
  if (is_norm(name)) return TensorComponent::vectors;
  if (name.has({"output"})) return TensorComponent::lm_head;
  if (name.has({"per_layer_model_proj"})) return TensorComponent::dense_ffn;
  if (name.has({"per_layer_token_embd"})) return TensorComponent::per_layer_embedding;
  if (name.has({"token_embd", "position_embd", "token_types"})) return TensorComponent::embedding;
  return TensorComponent::other;
}

/// "gate" alone is a router; in a gated feed-forward the word is "gate_proj" (Nemotron-H calls
/// every block "mixer").
bool is_hf_router(const Name& name) {
  if (name.any_contains("e_score_correction") || name.any_contains("expert_bias")) return true;
  if (name.has({"router", "primary_router"})) return !name.has({"altup"});
  return name.has({"gate"}) && !name.has({"experts", "shared_experts", "self_attn", "linear_attn"});
}

bool is_hf_mixer(const Name& name) {
  return name.any_contains("attn") || name.any_contains("attention") ||
         name.any_contains("mamba") || name.any_starts("ssm") ||
         name.has({"mixer", "conv", "conv1d", "short_conv", "A_log", "D", "dt_bias", "dt_proj",
                   "in_proj", "out_proj", "x_proj", "temporal_block"});
}

TensorComponent hf_component_in_layer(const Name& name) {
  if (name.any_contains("shared_expert") || name.any_contains("shared_mlp") ||
      name.any_contains("latent_proj"))
    return TensorComponent::shared_experts;
  if (is_norm(name)) return TensorComponent::vectors;
  if (is_hf_router(name)) return TensorComponent::router;
  if (name.has({"experts", "switch_mlp", "block_sparse_moe"}))
    return TensorComponent::routed_experts;
  if (name.has({"mixer"}) && name.has({"up_proj", "gate_proj", "down_proj"}))
    return TensorComponent::dense_ffn;
  if (is_hf_mixer(name)) return TensorComponent::attention;
  if (name.any_contains("mlp") || name.has({"feed_forward", "ffn"}) ||
      name.any_starts("per_layer_"))
    return TensorComponent::dense_ffn;
  return TensorComponent::other;
}

TensorComponent hf_component_outside(const Name& name) {
  if (name.has({"lm_head", "embed_out", "output"})) return TensorComponent::lm_head;
  if (is_norm(name) || name.has({"norm_f"})) return TensorComponent::vectors;
  if (name.any_starts("per_layer_model_proj")) return TensorComponent::dense_ffn;
  if (name.has({"embed_tokens_per_layer"})) return TensorComponent::per_layer_embedding;
  if (name.any_contains("embed") || name.has({"wte", "wpe"})) return TensorComponent::embedding;
  return TensorComponent::other;
}

/// Words of towers beside the decoder; a decoder that contains one itself would be misjudged, none
/// does.
bool is_hf_tower(const Name& name) {
  constexpr std::array<std::string_view, 8> kParts = {
      "vision", "visual", "audio", "mm_projector", "vit", "image_", "projector", "patch_embed"};
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
    return part == "vit" ? name.has({part}) : name.any_contains(part);
  });
}

}  // namespace

TensorPlace place_gguf_tensor(std::string_view text, int n_layers) {
  const Name name = split(text, {"blk"});
  if (!name.layer || name.words.empty() || name.words.front() != "blk")
    return {gguf_component_outside(name), std::nullopt};
  if (*name.layer >= n_layers || name.has({"nextn"})) return {TensorComponent::mtp, name.layer};
  // Files from before merged experts: "blk.0.ffn_gate.7.weight".
  const bool numbered_expert = name.words.size() > 2 && layer_number(name.words[2]).has_value();
  return {gguf_component_in_layer(name, numbered_expert), name.layer};
}

TensorPlace place_hf_tensor(std::string_view text, int n_layers) {
  const Name name = split(text, {"layers", "h", "blocks", "layer"});
  if (is_hf_tower(name)) return {TensorComponent::vision, std::nullopt};
  if (name.any_starts("mtp") || name.any_starts("nextn"))
    return {TensorComponent::mtp, std::nullopt};
  if (!name.layer) return {hf_component_outside(name), std::nullopt};
  if (*name.layer >= n_layers) return {TensorComponent::mtp, name.layer};
  return {hf_component_in_layer(name), name.layer};
}

}  // namespace roofcast
