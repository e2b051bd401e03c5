#include <fmt/format.h>

#include <algorithm>

#include "model/architecture/hf_families.hpp"

namespace roofcast::detail {
namespace {

/// Llama 4 layers are chunked where they have rotary positions; `no_rope_layers` holds 1 for those
/// and 0 for the global ones.
MixerPerLayer read_chunks(HfModel& model, const GqaShape& shape) {
  HfReader& text = model.text;
  const auto types = read_layer_types(model, {"full_attention", "chunked_attention"});
  const auto rope = text.integers("no_rope_layers", 1);
  if (!rope.empty() && rope.size() != static_cast<std::size_t>(model.n_layers))
    text.fail("no_rope_layers", fmt::format("expected {} entries, one per layer, got {}",
                                            model.n_layers, rope.size()));
  const Mixer whole = GroupedQueryAttention{shape};
  const Value* size = text.node().find("attention_chunk_size");
  if (size != nullptr && size->is_null()) return every_layer(model, "global", whole);
  const Mixer chunked =
      ChunkedAttention{shape, text.integer_or("attention_chunk_size", 8192, kMaxCount, 1)};
  std::int64_t interval = 4;
  if (types.empty() && rope.empty())
    interval = text.integer_or("no_rope_layer_interval", 4, kMaxHfLayers, 1);
  MixerPerLayer mixers;
  for (std::int64_t i = 0; i < model.n_layers; ++i) {
    const auto index = static_cast<std::size_t>(i);
    bool local = (i + 1) % interval != 0;
    if (!rope.empty()) local = rope[index] == 1;
    if (!types.empty()) local = types[index] == "chunked_attention";
    mixers.push_back(local ? NamedMixer{"local", chunked} : NamedMixer{"global", whole});
  }
  return mixers;
}

FfnPerLayer read_llama4_ffn(HfModel& model) {
  HfReader& text = model.text;
  MoeFfn moe;
  moe.n_experts = text.integer("num_local_experts");
  moe.n_experts_per_token = text.integer("num_experts_per_tok", moe.n_experts);
  moe.expert_dim = text.integer("intermediate_size");
  moe.n_shared_experts = 1;
  moe.shared_expert_dim = moe.expert_dim;
  const DenseFfn dense = read_dense(model, "intermediate_size_mlp");
  const auto listed = text.integers("moe_layers", model.n_layers - 1);
  if (!listed.empty())
    return mixed_ffn(model, dense, moe, [&listed](std::int64_t i) {
      return std::find(listed.begin(), listed.end(), i) != listed.end();
    });
  const std::int64_t step = text.integer_or("interleave_moe_layer_step", 1, kMaxHfLayers, 1);
  return mixed_ffn(model, dense, moe, [step](std::int64_t i) { return (i + 1) % step == 0; });
}

/// Head shapes of Gemma 4's local and global layers.
struct Gemma4Shapes {
  GqaShape local;
  GqaShape global;
};

Gemma4Shapes read_gemma4_shapes(HfModel& model) {
  HfReader& text = model.text;
  Gemma4Shapes shapes;
  shapes.local = read_gqa(model, {.head_dim = 256, .qk_norm = QkNorm::head});
  shapes.global = shapes.local;
  shapes.global.head_dim = text.integer_or("global_head_dim", 512, kMaxHfDimension, 1);
  const bool same = text.boolean_or("attention_k_eq_v", false);
  shapes.global.shared_kv_weights = same;
  if (text.has("num_global_key_value_heads")) {
    if (same)
      shapes.global.n_kv_heads = text.integer("num_global_key_value_heads", shapes.local.n_heads);
    else
      text.ignored("num_global_key_value_heads", "only read with attention_k_eq_v");
  }
  return shapes;
}

/// The last `num_kv_shared_layers` layers read the cache of the last layer of their kind before.
MixerPerLayer read_gemma4_mixers(HfModel& model) {
  HfReader& text = model.text;
  const Gemma4Shapes shapes = read_gemma4_shapes(model);
  const std::int64_t window = text.integer_or("sliding_window", 512, kMaxCount, 1);
  auto types = read_layer_types(model, {"full_attention", "sliding_attention"});
  if (types.empty()) {
    for (std::int64_t i = 0; i < model.n_layers; ++i)
      types.emplace_back((i + 1) % 6 == 0 ? "full_attention" : "sliding_attention");
    types.back() = "full_attention";
    text.defaulted("layer_types", "every sixth layer and the last are global");
  }
  const std::int64_t shared = text.integer_or("num_kv_shared_layers", 0, model.n_layers - 1);
  MixerPerLayer mixers;
  for (std::int64_t i = 0; i < model.n_layers; ++i) {
    const bool borrows = i >= model.n_layers - shared;
    const bool local = types[static_cast<std::size_t>(i)] == "sliding_attention";
    GqaShape shape = local ? shapes.local : shapes.global;
    if (borrows) shape.kv_owner = KvOwner::earlier_layer;
    const std::string suffix = borrows ? "_shared" : "";
    if (local)
      mixers.push_back({"local" + suffix, SlidingWindowAttention{shape, window}});
    else
      mixers.push_back({"global" + suffix, GroupedQueryAttention{shape}});
  }
  return mixers;
}

FfnPerLayer read_gemma4_ffn(HfModel& model) {
  HfReader& text = model.text;
  if (text.boolean_or("enable_moe_block", false)) {
    MoeFfn moe;
    moe.n_experts = text.integer("num_experts");
    moe.n_experts_per_token =
        text.integer(text.first_of({"top_k_experts", "num_experts_per_tok"}), moe.n_experts);
    moe.expert_dim =
        text.integer(text.first_of({"moe_intermediate_size", "expert_intermediate_size"}));
    moe.dense_dim = text.integer("intermediate_size");
    if (text.boolean_or("use_double_wide_mlp", false))
      text.refuse("use_double_wide_mlp", "double-wide blocks beside experts are not represented");
    return every_layer(model, "moe", moe);
  }
  const DenseFfn dense = read_dense(model);
  DenseFfn wide = dense;
  // Layers that borrow keys and values spend the saving on a wider block.
  if (text.boolean_or("use_double_wide_mlp", false)) wide.ffn_dim *= 2;
  const std::int64_t shared = text.integer_or("num_kv_shared_layers", 0, model.n_layers - 1);
  FfnPerLayer ffns = every_layer(model, "dense", dense);
  for (auto i = ffns.size() - static_cast<std::size_t>(shared); i < ffns.size(); ++i)
    ffns[i] = {"dense_wide", wide};
  return ffns;
}

}  // namespace

void read_llama4(HfModel& model) {
  read_base(model);
  const GqaShape shape = read_gqa(model, {.head_dim = 128});
  if (model.text.has("use_qk_norm"))
    model.text.ignored("use_qk_norm", "norms on queries and keys without weights");
  build_layers(model, read_chunks(model, shape), read_llama4_ffn(model));
}

void read_gemma4(HfModel& model) {
  HfReader& text = model.text;
  read_base(model, {.tied = true, .norms_per_block = 2});
  const std::int64_t per_layer = text.integer_or("hidden_size_per_layer_input", 256);
  if (per_layer > 0)
    model.spec.per_layer_embedding = PerLayerEmbedding{
        text.integer_or("vocab_size_per_layer_input", 262144, kMaxHfVocab, 1), per_layer};
  else if (text.has("vocab_size_per_layer_input"))
    text.ignored("vocab_size_per_layer_input", "hidden_size_per_layer_input is 0");
  const MixerPerLayer mixers = read_gemma4_mixers(model);
  build_layers(model, mixers, read_gemma4_ffn(model));
}

}  // namespace roofcast::detail
