#include "model/architecture/hf_vision.hpp"

#include <fmt/format.h>

namespace roofcast::detail {
namespace {

double dim(HfReader& part, std::string_view key) { return static_cast<double>(part.integer(key)); }
double dim_or(HfReader& part, std::string_view key, std::int64_t fallback) {
  return static_cast<double>(part.integer_or(key, fallback));
}

/// One block of a vision transformer: four attention matrices, a plain two-matrix MLP, two layer
/// norms, biases throughout.
double classic_block(double hidden, double ffn) {
  return 4.0 * (hidden * hidden + hidden) + 2.0 * hidden * ffn + ffn + hidden + 4.0 * hidden;
}

/// Qwen3-VL and Qwen3.5 (modeling_qwen3_vl.py): patch and position embeddings, blocks, and mergers
/// of spatial_merge_size^2 patches into the language model's width, one more per deepstack layer.
double qwen3_vision(HfReader& v) {
  const double hidden = dim(v, "hidden_size");
  const double patch = dim(v, "patch_size");
  const double merged = hidden * dim(v, "spatial_merge_size") * dim(v, "spatial_merge_size");
  const double out = dim(v, "out_hidden_size");
  const double patches =
      dim_or(v, "in_channels", 3) * dim_or(v, "temporal_patch_size", 2) * patch * patch * hidden +
      hidden + dim(v, "num_position_embeddings") * hidden;
  const double merge = merged * merged + merged + merged * out + out;
  const auto deep =
      static_cast<double>(v.integers("deepstack_visual_indexes", kMaxHfLayers).size());
  return patches + dim(v, "depth") * classic_block(hidden, dim(v, "intermediate_size")) + merge +
         2.0 * hidden + deep * (merge + 2.0 * merged);
}

/// SigLIP of Gemma 3 (modeling_siglip.py) and the projector with its norm.
double siglip(HfReader& v, double text_hidden) {
  const double hidden = dim(v, "hidden_size");
  const double patch = dim(v, "patch_size");
  const double side = dim_or(v, "image_size", 896) / patch;
  return 3.0 * patch * patch * hidden + hidden + side * side * hidden +
         dim(v, "num_hidden_layers") * classic_block(hidden, dim(v, "intermediate_size")) +
         2.0 * hidden + hidden * text_hidden + hidden;
}

/// Gemma 4's tower: attention without biases, gated MLP, four RMS norms a block, two position
/// tables.
double gemma4_vision(HfReader& v, double text_hidden) {
  const double hidden = dim(v, "hidden_size");
  const double head = dim(v, "head_dim");
  const double queries = dim(v, "num_attention_heads") * head;
  const double keys = dim(v, "num_key_value_heads") * head;
  const double patch = dim(v, "patch_size");
  const double block = hidden * (2.0 * queries + 2.0 * keys) +
                       3.0 * hidden * dim(v, "intermediate_size") + 4.0 * hidden + 2.0 * head;
  return 3.0 * patch * patch * hidden + 2.0 * dim(v, "position_embedding_size") * hidden +
         dim(v, "num_hidden_layers") * block + hidden * text_hidden;
}

/// MoonViT of Kimi models: learned 2-D positions, plain MLP, patch merger into the text width.
double moonvit(HfReader& v, double text_hidden) {
  const double hidden = dim(v, "vt_hidden_size");
  const double ffn = dim(v, "vt_intermediate_size");
  const double qkv = dim_or(v, "qkv_hidden_size", v.integer("vt_hidden_size"));
  const double patch = dim(v, "patch_size");
  const double positions = dim(v, "init_pos_emb_height") * dim(v, "init_pos_emb_width");
  const double block = 4.0 * hidden * qkv + 2.0 * hidden * ffn + 4.0 * hidden;
  const double merged = 4.0 * hidden;  // 2 x 2 patches
  return 3.0 * patch * patch * hidden + positions * hidden +
         dim(v, "vt_num_hidden_layers") * block + merged * merged + merged * text_hidden;
}

std::optional<double> vision_parameters(HfReader& v, double text_hidden) {
  const std::string type = v.optional_string("model_type").value_or("");
  if (v.has("num_position_embeddings") && v.has("out_hidden_size") && v.has("depth"))
    return qwen3_vision(v);
  if (type == "siglip_vision_model" && v.has("num_hidden_layers")) return siglip(v, text_hidden);
  if (type == "gemma4_vision") return gemma4_vision(v, text_hidden);
  if (v.has("vt_hidden_size")) return moonvit(v, text_hidden);
  return std::nullopt;
}

}  // namespace

void read_vision(HfModel& model) {
  HfReader& root = model.root;
  for (const std::string_view key : {"audio_config", "speech_config"})
    if (root.has(key)) {
      root.ignored(key, "an audio tower, resident and not read; its size is not counted");
      root.warn(fmt::format("{}: the audio tower's weights are not counted", key));
    }
  constexpr std::string_view kKey = "vision_config";
  if (!root.has(kKey)) return;
  // The map counts as one key: its parts only give the tower's size.
  HfReport vision_report;
  HfReader vision(*root.node().find(kKey), root.file(), std::string(kKey), vision_report);
  const auto params = vision_parameters(vision, static_cast<double>(model.spec.hidden_dim));
  if (!params) {
    root.ignored(kKey, "a vision tower of unknown size, resident and not read");
    root.warn("vision_config: the vision tower's weights are not counted");
    return;
  }
  model.spec.resident.push_back({"vision tower", *params});
  root.read(kKey, fmt::format("resident, not read: {:.4g} B parameters", *params / 1e9));
}

}  // namespace roofcast::detail
