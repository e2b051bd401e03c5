#include "model/architecture/hf_decoder.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofcast::detail {
namespace {

/// Index of `wanted` in `definitions`, appended under a free name when no equal kind is there.
template <typename Named>
int merge(std::vector<Named>& definitions, const Named& wanted) {
  int same_name = 0;
  for (std::size_t i = 0; i < definitions.size(); ++i) {
    if (definitions[i].kind == wanted.kind) return static_cast<int>(i);
    if (definitions[i].name.starts_with(wanted.name)) ++same_name;
  }
  const std::string name =
      same_name == 0 ? wanted.name : fmt::format("{}_{}", wanted.name, same_name + 1);
  definitions.push_back({name, wanted.kind});
  return static_cast<int>(definitions.size()) - 1;
}

/// Nested configs repeat `tie_word_embeddings` at the top, which then decides.
bool read_tied(HfModel& model, bool fallback) {
  constexpr std::string_view kKey = "tie_word_embeddings";
  const bool nested = !model.text.path().empty();
  if (nested && model.root.has(kKey)) {
    const bool top = model.root.boolean_or(kKey, fallback);
    if (model.text.has(kKey) && model.text.boolean_or(kKey, top) != top)
      model.text.warn(fmt::format("{} differs from the top-level value, which is used",
                                  model.text.dotted(kKey)));
    return top;
  }
  return model.text.boolean_or(kKey, fallback);
}

}  // namespace

void build_layers(HfModel& model, const MixerPerLayer& mixers, const FfnPerLayer& ffns) {
  ArchitectureSpec& spec = model.spec;
  for (std::size_t i = 0; i < static_cast<std::size_t>(model.n_layers); ++i) {
    Layer layer;
    layer.mixer = merge(spec.mixers, mixers.at(i));
    layer.ffn = merge(spec.ffns, ffns.at(i));
    spec.layers.push_back(layer);
  }
  finish_architecture(spec);
}

void read_base(HfModel& model, const BaseTraits& traits, const BaseKeys& keys) {
  ArchitectureSpec& spec = model.spec;
  HfReader& text = model.text;
  spec.hidden_dim = text.integer(keys.hidden);
  model.n_layers = text.integer(keys.layers, kMaxHfLayers);
  spec.vocab_size = traits.vocab_size
                        ? text.integer_or("vocab_size", *traits.vocab_size, kMaxHfVocab, 1)
                        : text.integer("vocab_size", kMaxHfVocab);
  if (const auto context = text.optional_integer(keys.context, kMaxCount)) {
    spec.max_context = *context;
  } else if (traits.max_context) {
    spec.max_context = *traits.max_context;
    text.defaulted(keys.context, std::to_string(spec.max_context));
  }
  spec.tied_embeddings = read_tied(model, traits.tied);
  spec.norm = traits.norm;
  spec.norms_per_block = traits.norms_per_block;
}

std::int64_t read_heads(HfModel& model, std::string_view key,
                        std::optional<std::int64_t> fallback) {
  const std::int64_t heads = fallback ? model.text.integer_or(key, *fallback, kMaxHfDimension, 1)
                                      : model.text.integer(key);
  if (heads > model.spec.hidden_dim)
    model.text.fail(key, fmt::format("expected at most the hidden size, {}, got {}",
                                     model.spec.hidden_dim, heads));
  return heads;
}

std::int64_t read_head_dim(HfModel& model, std::int64_t heads, std::optional<std::int64_t> fallback,
                           std::string_view key) {
  HfReader& text = model.text;
  const std::int64_t hidden = model.spec.hidden_dim;
  if (const auto declared = text.optional_integer(key)) {
    if (*declared * heads != hidden)
      text.warn(fmt::format("{} is {} as declared; hidden size / heads would be {}",
                            text.dotted(key), *declared, hidden / heads));
    return *declared;
  }
  if (fallback) {
    text.defaulted(key, std::to_string(*fallback));
    return *fallback;
  }
  if (hidden % heads != 0)
    text.fail(key,
              fmt::format("missing, and {} heads do not divide the hidden size {}", heads, hidden));
  text.derived(key, fmt::format("{} = hidden size {} / {} heads", hidden / heads, hidden, heads));
  return hidden / heads;
}

GqaShape read_gqa(HfModel& model, const GqaTraits& traits) {
  HfReader& text = model.text;
  GqaShape shape;
  shape.n_heads = read_heads(model, traits.heads_key, traits.n_heads);
  if (const auto kv_heads = text.optional_integer(traits.kv_heads_key)) {
    shape.n_kv_heads = *kv_heads;
  } else {
    shape.n_kv_heads = traits.n_kv_heads.value_or(shape.n_heads);
    text.defaulted(traits.kv_heads_key, std::to_string(shape.n_kv_heads));
  }
  if (shape.n_kv_heads > shape.n_heads || shape.n_heads % shape.n_kv_heads != 0)
    text.fail(traits.kv_heads_key, fmt::format("expected a divisor of the {} query heads, got {}",
                                               shape.n_heads, shape.n_kv_heads));
  shape.head_dim = read_head_dim(model, shape.n_heads, traits.head_dim);
  shape.qk_norm = traits.qk_norm;
  shape.qkv_bias = traits.bias == BiasRule::qkv || traits.bias == BiasRule::all;
  shape.o_bias = traits.bias == BiasRule::all;
  if (traits.bias == BiasRule::by_key) {
    shape.qkv_bias = text.boolean_or("attention_bias", traits.bias_default);
    shape.o_bias = shape.qkv_bias && traits.bias_on_output;
  }
  return shape;
}

std::vector<std::string> read_layer_types(HfModel& model, const std::vector<std::string>& allowed) {
  constexpr std::string_view kKey = "layer_types";
  HfReader& text = model.text;
  std::vector<std::string> types = text.strings(kKey, static_cast<std::size_t>(kMaxHfLayers));
  if (types.empty()) return types;
  if (types.size() != static_cast<std::size_t>(model.n_layers))
    text.fail(kKey, fmt::format("expected {} entries, one per layer, got {}", model.n_layers,
                                types.size()));
  const Value& list = *text.node().find(kKey);
  for (std::size_t i = 0; i < types.size(); ++i)
    if (std::find(allowed.begin(), allowed.end(), types[i]) == allowed.end())
      text.refuse_at(list.items[i], kKey,
                     fmt::format("expected one of {}, got {}{}", list_of(allowed),
                                 in_quotes(types[i]), did_you_mean(types[i], allowed)));
  return types;
}

MixerPerLayer local_global(const HfModel& model, const GqaShape& shape, std::int64_t window,
                           const std::function<bool(std::int64_t)>& is_local) {
  MixerPerLayer mixers;
  for (std::int64_t i = 0; i < model.n_layers; ++i) {
    if (is_local(i))
      mixers.push_back({"local", SlidingWindowAttention{shape, window}});
    else
      mixers.push_back({"global", GroupedQueryAttention{shape}});
  }
  return mixers;
}

MixerPerLayer read_local_global(HfModel& model, const GqaShape& shape, std::int64_t window,
                                const std::function<bool(std::int64_t)>& is_local) {
  const auto types = read_layer_types(model, {"full_attention", "sliding_attention"});
  if (types.empty()) return local_global(model, shape, window, is_local);
  return local_global(model, shape, window, [&types](std::int64_t i) {
    return types[static_cast<std::size_t>(i)] == "sliding_attention";
  });
}

MixerPerLayer every_layer(const HfModel& model, std::string_view name, const Mixer& mixer) {
  return MixerPerLayer(static_cast<std::size_t>(model.n_layers), {std::string(name), mixer});
}

FfnPerLayer every_layer(const HfModel& model, std::string_view name, const FeedForward& ffn) {
  return FfnPerLayer(static_cast<std::size_t>(model.n_layers), {std::string(name), ffn});
}

DenseFfn read_dense(HfModel& model, std::string_view key, FfnForm form, std::string_view bias_key) {
  DenseFfn ffn;
  ffn.ffn_dim = model.text.integer(key);
  ffn.form = form;
  if (!bias_key.empty()) ffn.bias = model.text.boolean_or(bias_key, false);
  return ffn;
}

FfnPerLayer mixed_ffn(const HfModel& model, const FeedForward& dense, const FeedForward& moe,
                      const std::function<bool(std::int64_t)>& is_moe) {
  FfnPerLayer ffns;
  for (std::int64_t i = 0; i < model.n_layers; ++i)
    ffns.push_back(is_moe(i) ? NamedFfn{"moe", moe} : NamedFfn{"dense", dense});
  return ffns;
}

void refuse_if_set(HfModel& model, std::string_view key, std::string_view why) {
  for (HfReader* part : {&model.root, &model.text}) {
    const Value* found = part->node().find(key);
    if (found == nullptr || found->is_null()) continue;
    const bool off = (found->is_scalar() && (found->scalar == "false" || found->scalar == "0")) ||
                     (found->is_sequence() && found->items.empty()) ||
                     (found->is_map() && found->members.empty());
    if (!off) part->refuse(key, why);
    part->read(key, shown(*found));
  }
}

}  // namespace roofcast::detail
