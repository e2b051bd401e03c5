#include <fmt/format.h>

#include <cmath>

#include "model/architecture/hf_families.hpp"

namespace roofcast::detail {
namespace {

constexpr std::int64_t kFfnMultiple = 256;

/// Refuses every key of a block that is set and that these layers do not represent.
void refuse_other_keys(const HfReader& block, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : block.node().members) {
    bool is_known = value.is_null() || (value.is_scalar() && value.scalar == "false");
    for (const std::string_view name : known) is_known = is_known || key == name;
    if (!is_known) block.refuse(key, "this variant of a layer is not represented");
  }
}

bool is_no_op(HfReader& block) { return block.boolean_or("no_op", false); }

NamedMixer read_block_attention(HfReader block, std::int64_t heads, std::int64_t head_dim) {
  if (is_no_op(block)) return {"none", NoMixer{}};
  refuse_other_keys(block, {"n_heads_in_group", "num_key_value_heads"});
  GqaShape shape{.n_heads = heads, .head_dim = head_dim};
  if (const auto kv_heads = block.optional_integer("num_key_value_heads")) {
    shape.n_kv_heads = *kv_heads;
  } else {
    const std::int64_t group = block.integer("n_heads_in_group");
    if (heads % group != 0)
      block.fail("n_heads_in_group",
                 fmt::format("expected a divisor of the {} heads, got {}", heads, group));
    shape.n_kv_heads = heads / group;
  }
  return {"attention", GroupedQueryAttention{shape}};
}

/// The width is two thirds of ffn_mult * hidden, rounded up to a multiple of 256
/// (modeling_decilm.py, _ffn_mult_to_intermediate_size).
NamedFfn read_block_ffn(HfReader block, std::int64_t hidden) {
  if (is_no_op(block)) return {"none", NoFfn{}};
  refuse_other_keys(block, {"ffn_mult", "intermediate_size"});
  DenseFfn ffn;
  if (const auto width = block.optional_integer("intermediate_size")) {
    ffn.ffn_dim = *width;
  } else {
    const double multiple = block.number("ffn_mult", 1e-3, 64.0);
    const auto width_before =
        static_cast<std::int64_t>(2.0 * multiple * static_cast<double>(hidden) / 3.0);
    ffn.ffn_dim = (width_before + kFfnMultiple - 1) / kFfnMultiple * kFfnMultiple;
  }
  if (ffn.ffn_dim < 1) block.fail("ffn_mult", "expected a width of at least one");
  return {fmt::format("dense_{}", ffn.ffn_dim), ffn};
}

}  // namespace

void read_nemotron_nas(HfModel& model) {
  HfReader& text = model.text;
  read_base(model);
  const std::int64_t heads = read_heads(model, "num_attention_heads");
  const std::int64_t head_dim = read_head_dim(model, heads, std::nullopt);
  refuse_if_set(model, "attention_bias", "biases in these layers are not represented");
  refuse_if_set(model, "mlp_bias", "biases in these layers are not represented");
  for (const std::string_view key : {"num_key_value_heads", "intermediate_size"})
    if (text.node().find(key) != nullptr) text.ignored(key, "block_configs decides layer by layer");
  // Blocks are read against a report of their own: the list counts as one key.
  HfReport blocks_report;
  HfReader blocks(text.node(), text.file(), text.path(), blocks_report);
  const std::vector<HfReader> configs = blocks.children("block_configs");
  if (configs.size() != static_cast<std::size_t>(model.n_layers))
    text.fail("block_configs", fmt::format("expected {} entries, one per layer, got {}",
                                           model.n_layers, configs.size()));
  text.read("block_configs", fmt::format("list of {}", configs.size()));
  MixerPerLayer mixers;
  FfnPerLayer ffns;
  for (const HfReader& config : configs) {
    HfReader block = config;
    const auto attention = block.optional_child("attention");
    const auto ffn = block.optional_child("ffn");
    if (!attention) block.fail("attention", "missing, expected this key");
    if (!ffn) block.fail("ffn", "missing, expected this key");
    mixers.push_back(read_block_attention(*attention, heads, head_dim));
    ffns.push_back(read_block_ffn(*ffn, model.spec.hidden_dim));
  }
  build_layers(model, mixers, ffns);
}

}  // namespace roofcast::detail
