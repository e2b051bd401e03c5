#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roofcast {

/// What a weight tensor is for. One decode step reads `attention` to `vectors` and `lm_head` (of
/// `routed_experts` the distinct ones that it hits), one row per token of `embedding`, and neither
/// `mtp` nor `vision`, which are resident all the same.
enum class TensorComponent {
  attention,  // projections, biases, convolutions and state parameters of any mixer
  dense_ffn,
  routed_experts,
  shared_experts,
  router,
  vectors,              // norms, biases and other tensors of one dimension
  embedding,            // token and position tables
  per_layer_embedding,  // a table of rows per token and layer (Gemma 3n, Gemma 4 E models)
  lm_head,
  mtp,     // multi-token-prediction blocks
  vision,  // vision and audio towers with their projectors
  other,
};
inline constexpr std::size_t kTensorComponents = 12;

std::string_view tensor_component_name(TensorComponent component);

/// One stored tensor, from whatever file.
struct StoredTensor {
  std::string name;
  std::string format;    // as the file's format names it: "q4_K", "BF16"
  std::size_t rank = 2;  // dimensions
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
};

/// Where a tensor belongs, judged by its name alone; `take_census` moves one-dimensional tensors of
/// layers to `vectors`, unless they are scales of a matrix.
struct TensorPlace {
  TensorComponent component = TensorComponent::other;
  std::optional<int> layer;
  bool operator==(const TensorPlace&) const = default;
};

/// `n_layers` is the number of decoder layers: blocks from there on are multi-token-prediction
/// blocks. GGUF names ("blk.3.attn_q.weight").
TensorPlace place_gguf_tensor(std::string_view name, int n_layers);
/// Hugging Face names ("model.layers.3.self_attn.q_proj.weight").
TensorPlace place_hf_tensor(std::string_view name, int n_layers);

struct TensorTotals {
  std::int64_t tensors = 0;
  std::int64_t elements = 0;  // as stored: eight 4-bit weights packed in an int32 count as one
  std::int64_t bytes = 0;
  bool operator==(const TensorTotals&) const = default;
};

/// Exact bytes of a model's tensors by component, in all and per layer.
struct TensorCensus {
  using ByComponent = std::array<TensorTotals, kTensorComponents>;
  ByComponent total{};
  std::vector<ByComponent> layers;  // index: layer; tensors outside of layers are in `total` only
  /// Bytes by format name of each component, largest first.
  std::array<std::vector<std::pair<std::string, std::int64_t>>, kTensorComponents> formats;
  std::vector<std::string> other_names;  // of up to 16 tensors that fell into `other`

  const TensorTotals& of(TensorComponent component) const {
    return total[static_cast<std::size_t>(component)];
  }
  std::int64_t bytes() const;
  std::int64_t elements() const;
};

/// No model has more layers; a block number beyond is taken for no block at all.
inline constexpr int kMaxCensusLayers = 4096;

using PlaceTensor = TensorPlace (*)(std::string_view name, int n_layers);
TensorCensus take_census(const std::vector<StoredTensor>& tensors, PlaceTensor place, int n_layers);

}  // namespace roofcast
