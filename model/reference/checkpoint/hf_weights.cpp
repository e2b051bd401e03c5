#include "model/reference/checkpoint/hf_weights.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "model/architecture/model_import.hpp"
#include "model/base/document.hpp"
#include "model/base/error.hpp"
#include "model/base/files.hpp"
#include "model/reference/checkpoint/hf_semantics.hpp"

namespace roofcast {
namespace {

std::string shape_text(const TensorShape& shape) {
  std::string text;
  for (const std::int64_t extent : shape) {
    text += text.empty() ? "(" : ", ";
    text += std::to_string(extent);
  }
  return text.empty() ? "()" : text + ")";
}

/// Tensors that files hold and no decode step reads: tables that are computed instead, a lm_head
/// that is the embedding too, and blocks behind the last layer.
bool may_be_left(const std::string& name, const ArchitectureSpec& spec) {
  if (name.ends_with("rotary_emb.inv_freq") || name.starts_with("mtp.")) return true;
  if (name == "lm_head.weight") return spec.tied_embeddings;
  constexpr std::string_view kLayers = "model.layers.";
  if (!name.starts_with(kLayers)) return false;
  const std::size_t end = name.find('.', kLayers.size());
  const std::string number = name.substr(kLayers.size(), end - kLayers.size());
  const bool is_number =
      !number.empty() && number.size() < 6 &&
      std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number && std::stoul(number) >= spec.layers.size();
}

}  // namespace

HfWeights::HfWeights(const std::string& path, const ArchitectureSpec& spec,
                     std::string_view model_type)
    : path_(path), spec_(spec), tensors_(path) {
  for (const TensorRule& rule : tensor_rules(model_type)) {
    if (!is_per_layer(rule)) add(rule, {.spec = &spec_}, -1);
    for (std::size_t layer = 0; layer < spec_.layers.size() && is_per_layer(rule); ++layer)
      add(rule, parts_of_layer(spec_, layer), static_cast<int>(layer));
  }
  refuse_left_over();
}

void HfWeights::add(const TensorRule& rule, const LayerParts& parts, int layer) {
  const TensorShape shape = rule.shape(parts);
  if (shape.empty()) return;
  const std::int64_t count = is_per_expert(rule) ? parts.moe->n_experts : 1;
  Place place{.rule = rule, .parts = parts, .stored = {}};
  for (std::int64_t expert = 0; expert < count; ++expert)
    place.stored.push_back(
        &checked(tensor_name(rule, static_cast<std::size_t>(std::max(layer, 0)), expert), shape));
  places_.emplace(std::pair{rule.tensor, layer}, std::move(place));
}

const MappedTensor& HfWeights::checked(const std::string& name, const TensorShape& shape) const {
  const MappedTensor* const tensor = tensors_.find(name);
  const std::string expected = "expected shape " + shape_text(shape) + ", got ";
  if (tensor == nullptr) throw SpecError(place_message(path_, {}, name, expected + "no tensor"));
  if (tensor->header.shape != shape)
    throw SpecError(
        place_message(tensor->file, {}, name, expected + shape_text(tensor->header.shape)));
  if (!is_float_tensor(*tensor))
    throw UnsupportedError(place_message(tensor->file, {}, name,
                                         "expected BF16, F16 or F32, got " + tensor->header.dtype));
  return *tensor;
}

void HfWeights::refuse_left_over() const {
  std::set<const MappedTensor*> used;
  for (const auto& [key, place] : places_) used.insert(place.stored.begin(), place.stored.end());
  for (const MappedTensor& tensor : tensors_.all())
    if (!used.contains(&tensor) && !may_be_left(tensor.header.name, spec_))
      throw UnsupportedError(place_message(
          tensor.file, {}, tensor.header.name,
          "the reference engine has no use for this tensor of shape " +
              shape_text(tensor.header.shape) + ", so it would not compute what the model does"));
}

void HfWeights::read_row(const TensorRow& row, float* out) const {
  const auto found = places_.find({row.tensor, row.layer});
  if (found == places_.end()) throw std::invalid_argument("the model has no such tensor");
  const Place& place = found->second;
  std::int64_t index = row.row;
  std::size_t expert = 0;
  if (place.stored.size() > 1 || is_per_expert(place.rule)) {
    const std::int64_t rows = place.stored.front()->header.shape.front();
    expert = static_cast<std::size_t>(index / rows);
    index %= rows;
  }
  if (expert >= place.stored.size()) throw std::invalid_argument("the model has no such expert");
  const MappedTensor& tensor = *place.stored[expert];
  const RowPlace at = place.rule.place(place.parts, index, row.width);
  const std::int64_t last = at.first + (row.width - 1) * at.stride;
  if (at.first < 0 || last >= tensor.header.elements)
    throw std::invalid_argument("the model has no such row");
  read_elements(tensor, at.first, at.stride, row.width, out);
}

WeightSource weight_source(std::shared_ptr<const HfWeights> weights) {
  return [weights = std::move(weights)](const TensorRow& row, Bf16* out) {
    std::vector<float> values(static_cast<std::size_t>(row.width));
    weights->read_row(row, values.data());
    std::transform(values.begin(), values.end(), out, float_to_bf16);
  };
}

/// The engine rounds what it reads to bf16, whatever the files hold: the spec is of what it runs.
/// Files' own bits per element would also count vectors that the spec does not list by themselves.
void store_in_bf16(ArchitectureSpec& spec) {
  for (const Component part :
       {Component::attention, Component::dense_ffn, Component::routed_experts,
        Component::shared_experts, Component::router, Component::embedding, Component::lm_head})
    spec.formats[part] = storage_of(*find_format("bf16"));
}

Checkpoint read_checkpoint(const std::string& folder) {
  if (path_kind(folder) != PathKind::folder)
    throw IoError(place_message(folder, {}, "", "expected a folder with a config.json"));
  ImportedModel model = import_model_path(folder);
  const std::string file = (std::filesystem::path(folder) / "config.json").string();
  if (!path_exists(file))
    throw SpecError(place_message(folder, {}, "", "expected a config.json beside the weights"));
  const Document config = parse_json(read_text_file(file), file);
  store_in_bf16(model.spec);
  Checkpoint checkpoint{.spec = std::move(model.spec),
                        .semantics = read_semantics(config),
                        .weights = nullptr,
                        .warnings = std::move(model.warnings)};
  checkpoint.weights =
      std::make_shared<const HfWeights>(folder, checkpoint.spec, model_type_of(config));
  return checkpoint;
}

}  // namespace roofcast
