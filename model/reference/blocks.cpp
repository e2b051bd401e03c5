#include "model/reference/blocks.hpp"

#include <algorithm>
#include <string>
#include <type_traits>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

[[noreturn]] void refuse(std::string_view what) {
  throw UnsupportedError("the reference engine has no kernel for " + std::string(what));
}

/// Parts that the engine stores and computes in bf16 only. The rest is unused by what it supports,
/// but for K and V, see kv_layout().
constexpr Component kStoredParts[] = {Component::activations};
/// Matrices, in any format of find_weight_format().
constexpr Component kMatrices[] = {Component::attention, Component::dense_ffn, Component::embedding,
                                   Component::lm_head};
/// The same of models with experts.
constexpr Component kExpertMatrices[] = {Component::routed_experts, Component::shared_experts,
                                         Component::router};

void check_format(const ArchitectureSpec& spec, Component part) {
  const Storage& storage = spec.formats[part];
  if (storage != storage_of(*find_format("bf16")))
    refuse(std::string(kComponentNames[static_cast<std::size_t>(part)]) + " in " +
           std::string(storage.format.name()) + " (bf16 only)");
}

void check_formats(const ArchitectureSpec& spec) {
  for (const Component part : kStoredParts) check_format(spec, part);
  for (const Component part : kMatrices) weight_format_of(spec.formats, part);
  if (spec.tied_embeddings &&
      spec.formats[Component::embedding] != spec.formats[Component::lm_head])
    refuse("a tied lm_head in another format than the embedding");
  const bool has_experts = std::any_of(spec.ffns.begin(), spec.ffns.end(), [](const NamedFfn& f) {
    return std::holds_alternative<MoeFfn>(f.kind);
  });
  if (!has_experts) return;
  for (const Component part : kExpertMatrices) weight_format_of(spec.formats, part);
}

/// A layer that takes an earlier layer's choice of tokens needs one that chose as many.
void check_index_owners(const ArchitectureSpec& spec) {
  std::int64_t chosen = 0;
  for (const Layer& layer : spec.layers) {
    const Mixer& mixer = spec.mixers[static_cast<std::size_t>(layer.mixer)].kind;
    const auto* const sparse = std::get_if<SparseLatentAttention>(&mixer);
    if (sparse == nullptr) continue;
    if (sparse->index_owner == KvOwner::self)
      chosen = sparse->index_topk;
    else if (sparse->index_topk != chosen)
      refuse("layers that take a choice of tokens which no earlier layer made");
  }
}

/// The setup of a block whose cache has no pages.
const LayerSetup& in_order(const LayerSetup& setup, std::string_view kind) {
  if (setup.kv.page_tokens > 0) refuse("pages of the cache of attention kind " + in_quotes(kind));
  return setup;
}

}  // namespace

MixerBlock make_mixer_block(const NamedMixer& mixer, const LayerSetup& setup) {
  return std::visit(
      [&](const auto& kind) -> MixerBlock {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, GroupedQueryAttention>)
          return GqaBlock(kind.shape, {}, setup);
        else if constexpr (std::is_same_v<Kind, SlidingWindowAttention>)
          return GqaBlock(kind.shape, {KvSpan::Kind::window, kind.window}, setup);
        else if constexpr (std::is_same_v<Kind, ChunkedAttention>)
          return GqaBlock(kind.shape, {KvSpan::Kind::chunk, kind.chunk}, setup);
        else if constexpr (std::is_same_v<Kind, MultiHeadLatentAttention>)
          return MlaBlock(kind.shape, in_order(setup, Kind::kName));
        else if constexpr (std::is_same_v<Kind, ExpandedLatentAttention>)
          return MlaExpandedBlock(kind.shape, setup);
        else if constexpr (std::is_same_v<Kind, SparseLatentAttention>)
          return MlaBlock(kind, in_order(setup, Kind::kName));
        else if constexpr (std::is_same_v<Kind, GatedDeltaNet>)
          return GatedDeltaBlock(kind, setup);
        else if constexpr (std::is_same_v<Kind, KimiDeltaAttention>)
          return KdaBlock(kind, setup);
        else if constexpr (std::is_same_v<Kind, LightningAttention>)
          return LightningBlock(kind, setup);
        else if constexpr (std::is_same_v<Kind, Mamba1>)
          return Mamba1Block(kind, setup);
        else if constexpr (std::is_same_v<Kind, Mamba2>)
          return Mamba2Block(kind, setup);
        else if constexpr (std::is_same_v<Kind, ShortConvolution>)
          return ShortConvBlock(kind, setup);
        else if constexpr (std::is_same_v<Kind, NoMixer>)
          return NoMixerBlock();
        else
          refuse("attention kind \"" + std::string(Kind::kName) + "\" (of " +
                 in_quotes(mixer.name) + ")");
      },
      mixer.kind);
}

FfnBlock make_ffn_block(const NamedFfn& ffn, const LayerSetup& setup) {
  return std::visit(
      [&](const auto& kind) -> FfnBlock {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, DenseFfn>)
          return DenseFfnBlock(kind, setup);
        else if constexpr (std::is_same_v<Kind, MoeFfn>)
          return MoeBlock(kind, setup);
        else
          return NoFfnBlock();
        static_assert(std::variant_size_v<FeedForward> == 3, "a kind without a block");
      },
      ffn.kind);
}

void check_engine_supports(const ArchitectureSpec& spec) {
  check_formats(spec);
  check_index_owners(spec);
  if (spec.norm != NormKind::rms) refuse("layer norm");
  if (spec.position_embeddings > 0) refuse("learned position embeddings");
  if (spec.lm_head_bias) refuse("a bias on the lm_head");
  if (spec.per_layer_embedding) refuse("per-layer embeddings");
  if (spec.block_order != BlockOrder::serial) refuse("attention and feed-forward in parallel");
  if (spec.hidden_dim % 2 != 0) refuse("an odd hidden_dim");
}

}  // namespace roofcast
