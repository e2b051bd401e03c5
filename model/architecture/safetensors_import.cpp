#include "model/architecture/safetensors_import.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "model/architecture/census_formats.hpp"

namespace roofcast {
namespace {

/// Dtypes whose elements are weights, with the plain format of each. Packed words (I32, U8) hold
/// several, so that only the config knows their format.
constexpr std::array kPlainDtypes = {
    std::pair<std::string_view, std::string_view>{"BF16", "bf16"},
    std::pair<std::string_view, std::string_view>{"F16", "fp16"},
    std::pair<std::string_view, std::string_view>{"F32", "fp32"},
    std::pair<std::string_view, std::string_view>{"F8_E4M3", "fp8_e4m3"},
    std::pair<std::string_view, std::string_view>{"F8_E5M2", "fp8_e5m2"}};

std::optional<FormatId> format_of_dtype(std::string_view dtype) {
  for (const auto& [name, format] : kPlainDtypes)
    if (name == dtype) return find_format(format);
  return std::nullopt;
}

/// Whether elements of `configured` are stored as those of `stored`, scales aside.
bool same_elements(FormatId configured, FormatId stored) {
  const bool scaled_e4m3 = configured.name() == "fp8_block128" || configured.name() == "mxfp8";
  return configured == stored || (scaled_e4m3 && stored.name() == "fp8_e4m3");
}

constexpr double kTolerance = 0.02;

void compare_total(ImportedModel& model, const SafetensorsModel& weights) {
  if (!weights.indexed_bytes) return;
  const auto stated = static_cast<double>(*weights.indexed_bytes);
  const double expected = weight_bytes(model.spec).resident.value;
  model.fields.push_back(
      {"metadata.total_size", fmt::format("{} B", *weights.indexed_bytes), FieldStatus::read});
  if (std::abs(stated - expected) > kTolerance * stated)
    model.warnings.push_back(fmt::format(
        "{}: the weights take {:.0f} B, but in the config's formats they would take {:.0f} B",
        weights.index_file, stated, expected));
}

/// What is resident and not read, and what nobody placed.
void report_rest(ImportedModel& model, const TensorCensus& census) {
  for (const TensorComponent component : {TensorComponent::mtp, TensorComponent::vision}) {
    const TensorTotals& totals = census.of(component);
    if (totals.bytes > 0)
      model.fields.push_back({fmt::format("tensors.{}", tensor_component_name(component)),
                              fmt::format("{} B in {} tensors, resident and not read by a step",
                                          totals.bytes, totals.tensors),
                              FieldStatus::read});
  }
  const TensorTotals& other = census.of(TensorComponent::other);
  if (other.bytes > 0)
    model.warnings.push_back(
        fmt::format("{} tensors of {} B belong to no known component, first {}", other.tensors,
                    other.bytes, census.other_names.front()));
}

}  // namespace

TensorCensus safetensors_census(const SafetensorsModel& weights, int n_layers) {
  std::vector<StoredTensor> tensors;
  tensors.reserve(weights.tensors.size());
  for (const SafetensorsTensor& tensor : weights.tensors)
    tensors.push_back({.name = tensor.name,
                       .format = tensor.dtype,
                       .rank = tensor.shape.size(),
                       .elements = tensor.elements,
                       .bytes = tensor.bytes});
  return take_census(tensors, place_hf_tensor, n_layers);
}

void set_formats_from_safetensors(ImportedModel& model, const SafetensorsModel& weights) {
  if (weights.tensors.empty()) {
    compare_total(model, weights);
    return;
  }
  const TensorCensus census =
      safetensors_census(weights, static_cast<int>(model.spec.layers.size()));
  const Formats configured = model.spec.formats;
  set_formats_from_census(model, census, format_of_dtype);
  for (std::size_t i = 0; i < kComponentNames.size(); ++i) {
    Storage& storage = model.spec.formats.components[i];
    if (same_elements(configured.components[i].format, storage.format))
      storage.format = configured.components[i].format;
  }
  report_rest(model, census);
}

}  // namespace roofcast
