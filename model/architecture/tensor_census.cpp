#include "model/architecture/tensor_census.hpp"

#include <algorithm>

namespace roofcast {
namespace {

constexpr std::array<std::string_view, kTensorComponents> kNames = {
    "attention", "dense_ffn", "routed_experts", "shared_experts", "router", "vectors", "embedding",
    "lm_head",   "mtp",       "vision",         "other"};
constexpr std::size_t kShownOtherNames = 16;

/// A per-tensor or per-row scale is a part of the matrix that it scales.
bool is_scale(std::string_view name) {
  return name.find("scale") != std::string_view::npos || name.ends_with("zeros") ||
         name.ends_with("g_idx");
}

TensorComponent component_of(const StoredTensor& tensor, const TensorPlace& at) {
  const bool in_layer = at.component != TensorComponent::embedding &&
                        at.component != TensorComponent::per_layer_embedding &&
                        at.component != TensorComponent::lm_head &&
                        at.component != TensorComponent::mtp &&
                        at.component != TensorComponent::vision;
  return in_layer && tensor.rank <= 1 && !is_scale(tensor.name) ? TensorComponent::vectors
                                                                : at.component;
}

void add(TensorTotals& totals, const StoredTensor& tensor) {
  totals.tensors += 1;
  totals.elements += tensor.elements;
  totals.bytes += tensor.bytes;
}

void add_format(std::vector<std::pair<std::string, std::int64_t>>& formats,
                const StoredTensor& tensor) {
  const auto found = std::find_if(formats.begin(), formats.end(),
                                  [&](const auto& row) { return row.first == tensor.format; });
  if (found == formats.end())
    formats.emplace_back(tensor.format, tensor.bytes);
  else
    found->second += tensor.bytes;
}

}  // namespace

std::string_view tensor_component_name(TensorComponent component) {
  return kNames[static_cast<std::size_t>(component)];
}

std::int64_t TensorCensus::bytes() const {
  std::int64_t sum = 0;
  for (const TensorTotals& totals : total) sum += totals.bytes;
  return sum;
}

std::int64_t TensorCensus::elements() const {
  std::int64_t sum = 0;
  for (const TensorTotals& totals : total) sum += totals.elements;
  return sum;
}

TensorCensus take_census(const std::vector<StoredTensor>& tensors, PlaceTensor place,
                         int n_layers) {
  TensorCensus census;
  for (const StoredTensor& tensor : tensors) {
    const TensorPlace at = place(tensor.name, n_layers);
    const TensorComponent kind = component_of(tensor, at);
    const auto component = static_cast<std::size_t>(kind);
    add(census.total[component], tensor);
    add_format(census.formats[component], tensor);
    if (kind == TensorComponent::other && census.other_names.size() < kShownOtherNames)
      census.other_names.push_back(tensor.name);
    if (!at.layer) continue;
    const auto layer = static_cast<std::size_t>(*at.layer);
    if (census.layers.size() <= layer) census.layers.resize(layer + 1);
    add(census.layers[layer][component], tensor);
  }
  for (auto& formats : census.formats)
    std::stable_sort(formats.begin(), formats.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
  return census;
}

}  // namespace roofcast
