#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/architecture/architecture_spec.hpp"
#include "model/reference/weights.hpp"

namespace roofcast {

/// What a tensor's shape follows from: the model, and the parts of one layer; null where the layer,
/// or a tensor outside of layers, has no such part.
struct LayerParts {
  const ArchitectureSpec* spec = nullptr;
  const GqaShape* gqa = nullptr;
  const MlaShape* mla = nullptr;
  const GatedDeltaNet* delta = nullptr;
  const Mamba2* mamba = nullptr;
  const DenseFfn* dense = nullptr;
  const MoeFfn* moe = nullptr;
};
LayerParts parts_of_layer(const ArchitectureSpec& spec, std::size_t layer);

using TensorShape = std::vector<std::int64_t>;

/// Where a row's elements lie in the stored tensor: at first, first + stride, ...
struct RowPlace {
  std::int64_t first = 0;
  std::int64_t stride = 1;
};

/// A row as stored: one after the other.
inline RowPlace whole_row(const LayerParts&, std::int64_t row, std::int64_t width) {
  return {row * width, 1};
}

/// One of the engine's tensors under the name that a model class gives it. "{layer}" and "{expert}"
/// in it stand for numbers; a tensor per expert holds that expert's rows.
struct TensorRule {
  Tensor tensor;
  std::string_view name;
  /// As stored; empty where the layer has no such tensor.
  TensorShape (*shape)(const LayerParts& parts);
  RowPlace (*place)(const LayerParts& parts, std::int64_t row, std::int64_t width) = whole_row;
};

/// The rules of a `model_type`. Throws UnsupportedError for a type that has none.
std::vector<TensorRule> tensor_rules(std::string_view model_type);

/// A rule's name with the numbers in place.
std::string tensor_name(const TensorRule& rule, std::size_t layer, std::int64_t expert);

inline bool is_per_layer(const TensorRule& rule) {
  return rule.name.find("{layer}") != std::string_view::npos;
}
inline bool is_per_expert(const TensorRule& rule) {
  return rule.name.find("{expert}") != std::string_view::npos;
}

}  // namespace roofcast
