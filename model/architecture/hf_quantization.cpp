#include "model/architecture/hf_quantization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/architecture/hf_modules.hpp"
#include "model/architecture/hf_quant_rules.hpp"

namespace roofcast::detail {
namespace {

constexpr std::array kWeightComponents = {Component::attention,      Component::dense_ffn,
                                          Component::routed_experts, Component::shared_experts,
                                          Component::router,         Component::embedding,
                                          Component::lm_head};

/// The type in which an engine holds everything unquantised.
FormatId read_dtype(HfModel& model) {
  for (HfReader* part : {&model.text, &model.root}) {
    const std::string_view key = part->first_of({"dtype", "torch_dtype"});
    if (!part->has(key)) continue;
    const std::string name = part->string(key);
    const auto format = find_format(name);
    if (!format) part->fail(key, fmt::format("expected a number format, got {}", in_quotes(name)));
    if (format->name() == "fp32") {
      part->warn(
          "the weights are stored in fp32; engines load them in 16 bits, as is assumed here");
      return FormatId{};
    }
    return *format;
  }
  model.text.defaulted("dtype", "bf16");
  return FormatId{};
}

void read_state_dtype(HfModel& model) {
  HfReader& text = model.text;
  for (const std::string_view key : {"mamba_ssm_cache_dtype", "mamba_ssm_dtype"}) {
    if (!text.has(key)) continue;
    const std::string name = text.string(key);
    const auto format = find_format(name);
    if (!format) text.fail(key, fmt::format("expected a number format, got {}", in_quotes(name)));
    model.spec.formats[Component::state] = storage_of(*format);
  }
}

bool any_in(const ModuleSet& set, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&set](const std::string& name) { return set.contains(name); });
}

/// Whether a rule that names no modules quantises this component.
bool base_reaches(const QuantRules& rules, Component component) {
  switch (component) {
    case Component::routed_experts:
      return true;
    case Component::attention:
    case Component::dense_ffn:
    case Component::shared_experts:
      return rules.reach == QuantReach::linear;
    case Component::lm_head:
      return rules.reach == QuantReach::linear && rules.base_reaches_lm_head;
    default:
      return false;
  }
}

Storage storage_of_matrix(const QuantRules& rules, const ModelMatrix& matrix,
                          const Storage& unquantised) {
  if (any_in(rules.excluded, matrix.names)) return unquantised;
  for (const QuantGroup& group : rules.groups)
    if (any_in(group.modules, matrix.names)) return group.storage;
  return rules.base && base_reaches(rules, matrix.component) ? *rules.base : unquantised;
}

/// Elements of one component by how they are stored.
struct Tally {
  std::vector<std::pair<Storage, double>> parts;
  void add(const Storage& storage, double elements) {
    for (auto& [kind, sum] : parts)
      if (kind == storage) {
        sum += elements;
        return;
      }
    parts.emplace_back(storage, elements);
  }
};

/// The mean in bits; the format is that of most elements.
Storage mean_storage(const Tally& tally) {
  const auto most =
      std::max_element(tally.parts.begin(), tally.parts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (tally.parts.size() == 1) return most->first;
  double elements = 0.0;
  double bits = 0.0;
  for (const auto& [storage, count] : tally.parts) {
    elements += count;
    bits += count * storage.bits;
  }
  return {most->first.format, bits / elements};
}

void apply(HfModel& model, const QuantRules& rules, const Storage& unquantised) {
  std::map<Component, Tally> tallies;
  // Components of which the model has nothing take the rule's format, too.
  for (const Component component : kWeightComponents)
    if (rules.base && base_reaches(rules, component)) model.spec.formats[component] = *rules.base;
  for_each_matrix(model.spec, [&](const ModelMatrix& matrix) {
    if (matrix.elements > 0.0)
      tallies[matrix.component].add(storage_of_matrix(rules, matrix, unquantised), matrix.elements);
  });
  for (const auto& [component, tally] : tallies) {
    const Storage storage = mean_storage(tally);
    model.spec.formats[component] = storage;
    const std::string_view name = kComponentNames[static_cast<std::size_t>(component)];
    if (tally.parts.size() > 1)
      model.text.warn(fmt::format("{}: quantised in part; mean {:.3f} bits a weight, most in {}",
                                  name, storage.bits, storage.format.name()));
  }
  if (rules.kv) {
    model.spec.formats[Component::k] = *rules.kv;
    model.spec.formats[Component::v] = *rules.kv;
  }
}

/// Either place of the rules; ModelOpt writes both, and its own file is the fuller one.
std::optional<QuantRules> read_rules(HfModel& model, const Document* hf_quant_config) {
  HfReader* owner = model.text.has("quantization_config") ? &model.text : &model.root;
  if (hf_quant_config == nullptr) {
    auto config = owner->optional_child("quantization_config");
    return config ? std::optional(read_quantization_config(*config)) : std::nullopt;
  }
  if (owner->has("quantization_config"))
    owner->ignored("quantization_config", "hf_quant_config.json says the same");
  HfReader file(hf_quant_config->root, hf_quant_config->file, "hf_quant_config",
                model.root.report());
  auto quantization = file.optional_child("quantization");
  if (!quantization) file.fail("quantization", "missing, expected this key");
  return read_modelopt(*quantization);
}

}  // namespace

void read_formats(HfModel& model, const Document* hf_quant_config) {
  const Storage unquantised = storage_of(read_dtype(model));
  Formats& formats = model.spec.formats;
  for (const Component component : kWeightComponents) formats[component] = unquantised;
  for (const Component component :
       {Component::k, Component::v, Component::conv_state, Component::activations})
    formats[component] = unquantised;
  read_state_dtype(model);
  if (const auto rules = read_rules(model, hf_quant_config)) apply(model, *rules, unquantised);
  // DeepSeek-V4 keeps its routed experts in fp4 under an fp8 configuration.
  if (const auto experts = model.text.optional_string("expert_dtype")) {
    if (*experts == "fp4")
      formats[Component::routed_experts] = storage_of(*find_format("mxfp4"));
    else if (*experts != "fp8")
      model.text.refuse("expert_dtype",
                        fmt::format("expected fp4 or fp8, got {}", in_quotes(*experts)));
  }
}

}  // namespace roofcast::detail
