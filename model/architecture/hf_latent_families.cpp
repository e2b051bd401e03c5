#include <fmt/format.h>

#include <algorithm>

#include "model/architecture/hf_families.hpp"

namespace roofcast::detail {
namespace {

/// 0/1 per layer, or one number for all layers.
std::vector<std::int64_t> read_layer_flags(HfReader& part, std::string_view key,
                                           std::int64_t n_layers) {
  std::vector<std::int64_t> flags = part.integers(key, 1);
  if (flags.size() != static_cast<std::size_t>(n_layers))
    part.fail(key,
              fmt::format("expected {} entries, one per layer, got {}", n_layers, flags.size()));
  return flags;
}

struct Indexer {
  std::int64_t n_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t topk = 0;
};

/// The models' own code and the engines keep index keys in fp8 with one fp32 scale per key of 128
/// elements, whatever the format of the weights (DeepSeek-V3.2-Exp, inference/model.py).
Indexer read_indexer(HfModel& model) {
  HfReader& text = model.text;
  Storage& storage = model.spec.formats[Component::indexer];
  storage = storage_of(*find_format("fp8_e4m3"));
  storage.bits = 8.0 + 32.0 / 128.0;
  text.defaulted("indexer_cache_format", "fp8_e4m3 and a scale per 128: 8.25 bits");
  return {text.integer("index_n_heads"), text.integer("index_head_dim"),
          text.integer("index_topk", kMaxCount)};
}

/// `indexer_types` says which layers have an indexer and which take an earlier layer's choice. Keys
/// that say so by a frequency leave the first layers open, so without the list they are refused.
MixerPerLayer share_indexers(HfModel& model, const SparseLatentAttention& mixer) {
  constexpr std::string_view kKey = "indexer_types";
  HfReader& text = model.text;
  MixerPerLayer mixers = every_layer(model, "mla_sparse", mixer);
  const auto types = text.strings(kKey, static_cast<std::size_t>(kMaxHfLayers));
  for (const std::string_view key : {"index_topk_freq", "index_skip_topk_offset"}) {
    if (!text.has(key)) continue;
    if (types.empty() && key == "index_topk_freq" && text.integer(key) != 1)
      text.refuse(key, "expected the list indexer_types beside indexers shared between layers");
    text.ignored(key, "indexer_types decides layer by layer");
  }
  if (types.empty()) return mixers;
  if (types.size() != mixers.size())
    text.fail(kKey, fmt::format("expected {} entries, one per layer, got {}", mixers.size(),
                                types.size()));
  SparseLatentAttention shared = mixer;
  shared.index_owner = KvOwner::earlier_layer;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] != "full" && (types[i] != "shared" || i == 0))
      text.refuse(kKey, fmt::format("expected full or, after the first layer, shared, got {}",
                                    in_quotes(types[i])));
    if (types[i] == "shared") mixers[i] = {"mla_sparse_shared", shared};
  }
  return mixers;
}

}  // namespace

MlaShape read_mla_shape(HfModel& model) {
  HfReader& text = model.text;
  MlaShape shape;
  shape.n_heads = read_heads(model, "num_attention_heads");
  if (const auto rank = text.optional_integer("q_lora_rank"))
    shape.q_lora_rank = *rank;
  else
    text.defaulted("q_lora_rank", "none: queries are projected directly");
  shape.kv_lora_rank = text.integer("kv_lora_rank");
  shape.qk_nope_head_dim = text.integer("qk_nope_head_dim");
  shape.qk_rope_head_dim = text.integer("qk_rope_head_dim");
  shape.v_head_dim = text.integer("v_head_dim");
  for (const std::string_view key : {"num_key_value_heads", "head_dim", "qk_head_dim"})
    if (text.has(key)) text.ignored(key, "latent attention caches one latent for all heads");
  refuse_if_set(model, "attention_bias", "biases of latent attention are not represented");
  return shape;
}

/// Layers from first_k_dense_replace on, at every moe_layer_freq-th index, have experts.
FfnPerLayer read_deepseek_ffn(HfModel& model) {
  HfReader& text = model.text;
  MoeFfn moe = read_experts(model, {"n_routed_experts", "num_experts"}, {"moe_intermediate_size"});
  moe.n_shared_experts =
      text.integer_or(text.first_of({"n_shared_experts", "num_shared_experts"}), 0, 1024);
  moe.shared_expert_dim = moe.n_shared_experts > 0 ? moe.expert_dim : 0;
  const auto method = text.optional_string("topk_method");
  moe.router_bias = method.value_or("noaux_tc") == "noaux_tc";
  if (text.has("routed_expert_hidden_size")) {
    moe.latent_dim = text.integer("routed_expert_hidden_size");
    moe.latent_norm = text.boolean_or("latent_moe_use_norm", false);
  }
  const std::int64_t first = text.integer_or("first_k_dense_replace", 0, model.n_layers);
  const std::int64_t step = text.integer_or("moe_layer_freq", 1, kMaxHfLayers, 1);
  return mixed_ffn(model, read_dense(model), moe,
                   [=](std::int64_t i) { return i >= first && i % step == 0; });
}

void read_deepseek(HfModel& model) {
  read_base(model);
  const MlaShape shape = read_mla_shape(model);
  model.spec.mtp_layers = model.text.integer_or("num_nextn_predict_layers", 0, 64);
  const FfnPerLayer ffns = read_deepseek_ffn(model);
  build_layers(model, every_layer(model, "mla", MultiHeadLatentAttention{shape}), ffns);
}

void read_deepseek_sparse(HfModel& model) {
  read_base(model);
  const MlaShape shape = read_mla_shape(model);
  const Indexer indexer = read_indexer(model);
  model.spec.mtp_layers = model.text.integer_or("num_nextn_predict_layers", 0, 64);
  const SparseLatentAttention mixer{shape, indexer.n_heads, indexer.head_dim, indexer.topk};
  const MixerPerLayer mixers = share_indexers(model, mixer);
  const FfnPerLayer ffns = read_deepseek_ffn(model);
  build_layers(model, mixers, ffns);
}

/// Layers differ by their compress ratio: 0 the window alone, at most `kSparseRatio` entries chosen
/// by an indexer, above all entries (inference/model.py of the model's repository).
void read_deepseek_v4(HfModel& model) {
  constexpr std::int64_t kSparseRatio = 4;
  HfReader& text = model.text;
  read_base(model);
  CompressedAttention base;
  base.n_heads = read_heads(model, "num_attention_heads");
  base.head_dim = text.integer("head_dim");
  base.q_lora_rank = text.integer("q_lora_rank");
  base.o_groups = text.integer("o_groups");
  base.o_lora_rank = text.integer("o_lora_rank");
  base.window = text.integer("sliding_window", kMaxCount);
  if (text.integer_or("num_key_value_heads", 1, kMaxHfDimension, 1) != 1)
    text.refuse("num_key_value_heads", "expected 1: this attention has one key-value head");
  const Indexer indexer = read_indexer(model);
  const auto ratios = text.integers("compress_ratios", kMaxHfDimension);
  model.spec.mtp_layers = text.integer_or("num_nextn_predict_layers", 0, 64);
  const auto layers = static_cast<std::size_t>(model.n_layers);
  if (ratios.size() != layers &&
      ratios.size() != layers + static_cast<std::size_t>(model.spec.mtp_layers))
    text.fail("compress_ratios", fmt::format("expected {} entries, one per layer, got {}",
                                             model.n_layers, ratios.size()));
  MixerPerLayer mixers;
  for (std::size_t i = 0; i < layers; ++i) {
    CompressedAttention mixer = base;
    mixer.compress_ratio = ratios[i];
    const bool sparse = ratios[i] > 0 && ratios[i] <= kSparseRatio;
    if (sparse) {
      mixer.index_n_heads = indexer.n_heads;
      mixer.index_head_dim = indexer.head_dim;
      mixer.index_topk = indexer.topk;
    }
    mixers.push_back({ratios[i] == 0 ? "window" : sparse ? "csa" : "hca", mixer});
  }
  MoeFfn moe = read_experts(model, {"n_routed_experts"}, {"moe_intermediate_size"});
  moe.n_shared_experts = text.integer_or("n_shared_experts", 1, 1024);
  moe.shared_expert_dim = moe.n_shared_experts > 0 ? moe.expert_dim : 0;
  moe.router_bias = true;
  refuse_if_set(model, "attention_bias", "biases of this attention are not represented");
  if (text.has("qk_rope_head_dim"))
    text.ignored("qk_rope_head_dim", "a part of head_dim, which is cached whole");
  if (text.has("hc_mult")) {
    text.ignored("hc_mult", "mixing weights of hyper-connections are not counted");
    text.warn(
        fmt::format("{}: the mixing weights of hyper-connections, below 0.2 % of the "
                    "active parameters, are not counted",
                    text.dotted("hc_mult")));
  }
  // The first layers pick experts by token id: no scores to correct, so no bias.
  const std::int64_t hashed = text.integer_or("num_hash_layers", 0, kMaxHfLayers);
  FfnPerLayer ffns = every_layer(model, "moe", moe);
  moe.router_bias = false;
  for (std::size_t i = 0; i < std::min(ffns.size(), static_cast<std::size_t>(hashed)); ++i)
    ffns[i] = {"hash_moe", moe};
  build_layers(model, mixers, ffns);
}

void read_minimax_m3(HfModel& model) {
  HfReader& text = model.text;
  read_base(model);
  const bool normed = text.boolean_or("use_qk_norm", true);
  if (text.optional_string("qk_norm_type").value_or("per_head") != "per_head")
    text.refuse("qk_norm_type", "expected per_head");
  refuse_if_set(model, "attention_output_gate", "an output gate here is not represented");
  const GqaShape shape = read_gqa(
      model,
      {.head_dim = 128, .bias = BiasRule::none, .qk_norm = normed ? QkNorm::head : QkNorm::none});
  auto config = text.optional_child("sparse_attention_config");
  if (!config) text.fail("sparse_attention_config", "missing, expected this key");
  MixerPerLayer mixers = every_layer(model, "dense_attention", GroupedQueryAttention{shape});
  if (config->boolean_or("use_sparse_attention", true)) {
    const SparseGroupedAttention sparse{shape,
                                        config->integer("sparse_num_index_heads"),
                                        config->integer("sparse_index_dim"),
                                        config->integer("sparse_block_size"),
                                        config->integer("sparse_topk_blocks"),
                                        config->integer_or("sparse_init_block", 0),
                                        config->integer_or("sparse_local_block", 0)};
    const auto is_sparse = read_layer_flags(*config, "sparse_attention_freq", model.n_layers);
    const auto no_value = read_layer_flags(*config, "sparse_disable_index_value", model.n_layers);
    for (std::size_t i = 0; i < mixers.size(); ++i) {
      if (is_sparse[i] == 0) continue;
      if (no_value[i] == 0)
        config->refuse("sparse_disable_index_value", "indexers with values are not represented");
      mixers[i] = {"sparse_attention", sparse};
    }
  }
  MoeFfn moe =
      read_experts(model, {"num_local_experts"}, {"moe_intermediate_size", "intermediate_size"});
  moe.router_bias = text.boolean_or("use_routing_bias", true);
  moe.n_shared_experts = text.integer_or("n_shared_experts", 0, 1024);
  if (moe.n_shared_experts > 0)
    moe.shared_expert_dim = text.integer_or("shared_intermediate_size", moe.expert_dim);
  const auto has_experts = read_layer_flags(text, "moe_layer_freq", model.n_layers);
  if (text.has("first_k_dense_replace"))
    text.ignored("first_k_dense_replace", "moe_layer_freq decides layer by layer");
  model.spec.mtp_layers = text.integer_or("num_nextn_predict_layers", 0, 64);
  if (text.has("num_mtp_modules"))
    text.ignored("num_mtp_modules", "num_nextn_predict_layers says how many are stored");
  build_layers(model, mixers,
               mixed_ffn(model, read_dense(model, "dense_intermediate_size"), moe,
                         [&has_experts](std::int64_t i) {
                           return has_experts[static_cast<std::size_t>(i)] != 0;
                         }));
}

}  // namespace roofcast::detail
