#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/architecture/feed_forward.hpp"
#include "model/architecture/formats.hpp"
#include "model/attention/attention.hpp"

namespace roofcast {

/// RMS norm and unbiased layer norm (Cohere) have one weight per element, layer norm also a bias.
enum class NormKind { rms, layer, layer_no_bias };
template <>
struct EnumNames<NormKind> {
  static constexpr std::array<std::string_view, 3> kNames = {"rms", "layer", "layer_no_bias"};
};

/// How a layer's attention and feed-forward parts follow each other: one after the other, or both
/// on the layer's input, under one norm (Falcon-7B, Cohere) or one each (Falcon-40B). Parallel
/// blocks add up before they leave the rank, so tensor parallelism reduces once a layer.
enum class BlockOrder { serial, parallel_one_norm, parallel_two_norms };
template <>
struct EnumNames<BlockOrder> {
  static constexpr std::array<std::string_view, 3> kNames = {"serial", "parallel_one_norm",
                                                             "parallel_two_norms"};
};

struct NamedMixer {
  std::string name;
  Mixer kind;
  bool operator==(const NamedMixer&) const = default;
};

struct NamedFfn {
  std::string name;
  FeedForward kind;
  bool operator==(const NamedFfn&) const = default;
};

/// One layer: indices into `mixers` and `ffns`.
struct Layer {
  int mixer = 0;
  int ffn = 0;
  bool operator==(const Layer&) const = default;
};

/// Equal layers, wherever they stand in the model.
struct LayerClass {
  Layer layer;
  int count = 0;
  bool operator==(const LayerClass&) const = default;
};

/// Weights that stay in memory and that no decode step reads: vision tower, draft heads.
struct ResidentPart {
  std::string name;
  double params = 0.0;
  bool operator==(const ResidentPart&) const = default;
};

/// Per-layer embeddings (Gemma 3n, Gemma 4 E models): a table looked up, one row per token and
/// layer, and two small projections in each layer.
struct PerLayerEmbedding {
  std::int64_t vocab_size = 0;
  std::int64_t dim = 0;
  bool operator==(const PerLayerEmbedding&) const = default;
};

/// What the model's publisher says of its size; the shipped specs are tested against it. Publishers
/// count differently, so the spec says what the figures cover.
struct PublishedCounts {
  double total_params = 0.0;
  std::optional<double> active_params;
  bool active_includes_embedding = false;  // the input table, where it is apart from the lm_head
  bool active_includes_head = true;
  bool counts_embeddings = true;  // false: both figures leave out input table and lm_head
  bool counts_resident = true;    // the total includes a vision tower and the like
  bool counts_mtp = false;        // the total includes MTP blocks
  std::string source;
  bool operator==(const PublishedCounts&) const = default;
};

/// A model's architecture: everything that decides its bytes and FLOPs, no weights. Made complete
/// by a reader or not at all; `finish_architecture` checks it and fills `classes`.
struct ArchitectureSpec {
  std::string name;
  std::string title;
  std::string source;
  std::optional<PublishedCounts> published;

  std::int64_t hidden_dim = 0;
  std::int64_t vocab_size = 0;
  bool tied_embeddings = false;
  std::int64_t max_context = 0;  // 0: the source does not say
  NormKind norm = NormKind::rms;
  BlockOrder block_order = BlockOrder::serial;
  std::int64_t norms_per_block = 1;           // 2: one before and one after each block (Gemma)
  std::int64_t hyper_streams = 0;             // residual streams of hyper-connections (DeepSeek-V4)
  std::int64_t attention_residual_block = 0;  // layers per block of attention residuals (Kimi K3)
  std::int64_t position_embeddings = 0;       // rows of a learned position table
  bool lm_head_bias = false;
  std::optional<PerLayerEmbedding> per_layer_embedding;
  std::int64_t mtp_layers = 0;  // multi-token-prediction blocks: resident, not read
  std::vector<ResidentPart> resident;

  std::vector<NamedMixer> mixers;
  std::vector<NamedFfn> ffns;
  std::vector<Layer> layers;  // in order
  Formats formats;

  std::vector<LayerClass> classes;  // derived: layers grouped, by first appearance

  bool operator==(const ArchitectureSpec&) const = default;
};

/// Checks that layers exist and their indices are valid, and groups equal layers into classes.
/// Throws std::invalid_argument when a caller broke that.
void finish_architecture(ArchitectureSpec& spec);

/// Element counts of the whole model.
struct ParameterCount {
  double total = 0.0;   // without MTP blocks and resident-only parts
  double active = 0.0;  // used by one token: input embedding left out unless it is the lm_head too
  double embedding = 0.0;
  double mtp = 0.0;
  double resident = 0.0;  // vision tower and the like
};
ParameterCount count_parameters(const ArchitectureSpec& spec);

/// Bytes of the weights in memory, and of those that a decode step of one sequence reads.
struct WeightBytes {
  Bytes resident;
  Bytes read_per_step_batch1;
};
WeightBytes weight_bytes(const ArchitectureSpec& spec);

/// KV cache (latents and indexer keys included) and recurrent state of one sequence.
struct CacheBytes {
  Bytes kv;     // grows with context
  Bytes state;  // fixed
};
/// Of one whole copy, with `context` tokens.
CacheBytes cache_bytes(const ArchitectureSpec& spec, double context);
/// Of one rank under tensor parallelism: a cache splits over at most its KV heads.
CacheBytes cache_bytes_per_rank(const ArchitectureSpec& spec, double context, int tp);
/// KV bytes that one more token adds while no window is full.
Bytes kv_bytes_per_token(const ArchitectureSpec& spec);

/// Whether the model stores anything in the format of `component`: a dense one has no router.
bool stores(const ArchitectureSpec& spec, Component component);

}  // namespace roofcast
