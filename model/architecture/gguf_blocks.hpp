#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/architecture/gguf_architectures.hpp"
#include "model/architecture/gguf_fields.hpp"
#include "model/architecture/gguf_model.hpp"

namespace roofcast {

/// Tensors of a GGUF model by name.
class GgufTensors {
 public:
  explicit GgufTensors(const GgufModel& model);

  /// nullptr when absent.
  const GgufTensor* find(std::string_view name) const;
  /// "blk.LAYER.NAME".
  const GgufTensor* block(int layer, std::string_view name) const;
  bool has(int layer, std::string_view name) const { return block(layer, name) != nullptr; }
  /// True when the block holds a tensor whose name (below "blk.N.") starts with `prefix`.
  bool any(int layer, std::string_view prefix) const;
  /// One more than the highest block that holds a tensor.
  std::int64_t end_of_blocks() const { return static_cast<std::int64_t>(blocks_.size()); }

 private:
  std::unordered_map<std::string_view, const GgufTensor*> by_name_;
  std::vector<std::vector<std::string_view>> blocks_;  // names below "blk.N."
};

/// Per-layer numbers that metadata give, defaults filled in.
struct GgufHeads {
  std::vector<std::int64_t> n_heads;
  std::vector<std::int64_t> n_kv_heads;
  std::int64_t head_dim = 0;           // key_length
  std::int64_t v_head_dim = 0;         // value_length
  std::int64_t window_head_dim = 0;    // key_length_swa, else head_dim
  std::int64_t window_v_head_dim = 0;  // value_length_swa, else v_head_dim
};

/// Everything that deriving a block's kinds needs.
struct GgufContext {
  GgufFields& fields;
  const GgufTensors& tensors;
  const GgufArchitecture& architecture;
  std::int64_t hidden_dim = 0;
  GgufHeads heads = {};
  std::vector<bool> windowed = {};  // by layer
  std::int64_t window = 0;          // tokens; of windowed layers
  std::int64_t own_kv_layers = 0;   // layers from here on read an earlier layer's cache
};

/// Attention or state kind of one block, from the tensors that it holds. Throws SpecError when
/// their shapes contradict the metadata, UnsupportedError for a kind that Roofcast does not
/// represent.
Mixer gguf_mixer(const GgufContext& context, int layer);

/// Feed-forward kind of one block, alike.
FeedForward gguf_feed_forward(const GgufContext& context, int layer);

/// Throws SpecError unless `tensor` has `rows` rows; `because` says what they follow from.
void expect_rows(const GgufContext& context, const GgufTensor& tensor, std::int64_t rows,
                 std::string_view because);

/// State kind (gated delta, Mamba-2, short convolution, ...) of a block that holds one.
Mixer gguf_state_mixer(const GgufContext& context, int layer);

/// Refuses `block` by name: "blk.3: state of kind X is not represented".
[[noreturn]] void refuse_block(const GgufContext& context, int layer, std::string_view what);

}  // namespace roofcast
