#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/hf_reader.hpp"

namespace roofcast::detail {

/// An import under way. `text` is the language model's part of the config: `text_config` of
/// multimodal models, the whole file otherwise.
struct HfModel {
  HfReader root;
  HfReader text;
  ArchitectureSpec spec = {};
  std::int64_t n_layers = 0;
};

/// What the layers of one index are made of; equal ones are merged when the model is built.
using MixerPerLayer = std::vector<NamedMixer>;
using FfnPerLayer = std::vector<NamedFfn>;
void build_layers(HfModel& model, const MixerPerLayer& mixers, const FfnPerLayer& ffns);

/// Defaults that a model class of `transformers` gives to keys its configs may lack, and facts that
/// its code fixes.
struct BaseTraits {
  bool tied = false;
  NormKind norm = NormKind::rms;
  std::int64_t norms_per_block = 1;
  std::optional<std::int64_t> vocab_size = {};
  std::optional<std::int64_t> max_context = {};
};
/// Names of the base keys; some older classes have their own.
struct BaseKeys {
  std::string_view hidden = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view context = "max_position_embeddings";
};
/// Hidden size, vocabulary, layers, context, tied embeddings.
void read_base(HfModel& model, const BaseTraits& traits = {}, const BaseKeys& keys = {});

/// Query heads under `key`: at most one an element of the hidden size, for a head takes at least
/// one.
std::int64_t read_heads(HfModel& model, std::string_view key,
                        std::optional<std::int64_t> fallback = {});

enum class BiasRule { none, qkv, all, by_key };
struct GqaTraits {
  std::optional<std::int64_t> head_dim = {};    // where neither given nor hidden / heads
  std::optional<std::int64_t> n_heads = {};     // where not given
  std::optional<std::int64_t> n_kv_heads = {};  // where not given; else as many as heads
  /// by_key: attention_bias (false when absent) on Q, K, V and, with `bias_on_output`, O.
  BiasRule bias = BiasRule::by_key;
  bool bias_on_output = true;
  bool bias_default = false;
  QkNorm qk_norm = QkNorm::none;
  std::string_view heads_key = "num_attention_heads";
  std::string_view kv_heads_key = "num_key_value_heads";
};
GqaShape read_gqa(HfModel& model, const GqaTraits& traits = {});

/// head_dim of `heads` heads: declared (with a warning when hidden / heads differs), else
/// `fallback`, else hidden / heads.
std::int64_t read_head_dim(HfModel& model, std::int64_t heads, std::optional<std::int64_t> fallback,
                           std::string_view key = "head_dim");

/// `layer_types`, checked for length and against `allowed`; empty when the config has none.
std::vector<std::string> read_layer_types(HfModel& model, const std::vector<std::string>& allowed);

/// "local" or "global" attention of one head shape; `is_local` by layer index.
MixerPerLayer local_global(const HfModel& model, const GqaShape& shape, std::int64_t window,
                           const std::function<bool(std::int64_t)>& is_local);
/// From `layer_types` of full_attention and sliding_attention, or by `is_local` when there is none.
MixerPerLayer read_local_global(HfModel& model, const GqaShape& shape, std::int64_t window,
                                const std::function<bool(std::int64_t)>& is_local);
MixerPerLayer every_layer(const HfModel& model, std::string_view name, const Mixer& mixer);
FfnPerLayer every_layer(const HfModel& model, std::string_view name, const FeedForward& ffn);

/// A dense block of width `key`; bias when `bias_key` (if any) says so.
DenseFfn read_dense(HfModel& model, std::string_view key = "intermediate_size",
                    FfnForm form = FfnForm::gated, std::string_view bias_key = {});

/// `moe` in the layers that `is_moe` picks, `dense` in the others.
FfnPerLayer mixed_ffn(const HfModel& model, const FeedForward& dense, const FeedForward& moe,
                      const std::function<bool(std::int64_t)>& is_moe);

/// Refuses a key that, when true (or a non-empty list, text or number), changes the model's shape
/// in a way that is not represented.
void refuse_if_set(HfModel& model, std::string_view key, std::string_view why);

}  // namespace roofcast::detail
