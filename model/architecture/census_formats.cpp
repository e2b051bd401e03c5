#include "model/architecture/census_formats.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace roofcast {
namespace {

/// Elements of each weight component of a spec, as `weight_bytes` counts them.
using Elements = std::array<double, kComponentNames.size()>;

double& at(Elements& elements, Component c) { return elements[static_cast<std::size_t>(c)]; }

Elements spec_elements(const ArchitectureSpec& spec) {
  Elements e{};
  const auto hidden = static_cast<double>(spec.hidden_dim);
  for (const LayerClass& c : spec.classes) {
    const MixerParameters mixer =
        std::visit([&](const auto& kind) { return kind.parameters(hidden); },
                   spec.mixers[static_cast<std::size_t>(c.layer.mixer)].kind);
    const FfnParameters ffn = std::visit([&](const auto& kind) { return kind.parameters(hidden); },
                                         spec.ffns[static_cast<std::size_t>(c.layer.ffn)].kind);
    at(e, Component::attention) += c.count * mixer.matrices;
    at(e, Component::dense_ffn) += c.count * ffn.dense;
    at(e, Component::routed_experts) += c.count * ffn.routed;
    at(e, Component::shared_experts) += c.count * ffn.shared;
    at(e, Component::router) += c.count * ffn.router;
  }
  const double table = static_cast<double>(spec.vocab_size) * hidden;
  at(e, Component::lm_head) = table;
  if (!spec.tied_embeddings) at(e, Component::embedding) = table;
  at(e, Component::embedding) += static_cast<double>(spec.position_embeddings) * hidden;
  if (spec.per_layer_embedding) {
    const auto layers = static_cast<double>(spec.layers.size());
    const auto dim = static_cast<double>(spec.per_layer_embedding->dim);
    at(e, Component::embedding) +=
        static_cast<double>(spec.per_layer_embedding->vocab_size) * dim * layers;
    at(e, Component::dense_ffn) += 3.0 * dim * hidden * layers;  // gate, projection, model's own
  }
  return e;
}

/// The file's side of one component of the spec.
struct Share {
  TensorTotals totals;
  std::vector<std::pair<std::string, std::int64_t>> formats;
};

void add(Share& share, const TensorCensus& census, TensorComponent component) {
  const TensorTotals& more = census.of(component);
  share.totals.tensors += more.tensors;
  share.totals.elements += more.elements;
  share.totals.bytes += more.bytes;
  const auto& formats = census.formats[static_cast<std::size_t>(component)];
  share.formats.insert(share.formats.end(), formats.begin(), formats.end());
}

/// A tied model stores its head as the token table.
Share share_of(const TensorCensus& census, Component component, const ArchitectureSpec& spec) {
  Share share;
  switch (component) {
    case Component::attention:
      add(share, census, TensorComponent::attention);
      break;
    case Component::dense_ffn:
      add(share, census, TensorComponent::dense_ffn);
      break;
    case Component::routed_experts:
      add(share, census, TensorComponent::routed_experts);
      break;
    case Component::shared_experts:
      add(share, census, TensorComponent::shared_experts);
      break;
    case Component::router:
      add(share, census, TensorComponent::router);
      break;
    case Component::lm_head:
      add(share, census,
          spec.tied_embeddings ? TensorComponent::embedding : TensorComponent::lm_head);
      break;
    case Component::embedding:
      if (!spec.tied_embeddings) add(share, census, TensorComponent::embedding);
      add(share, census, TensorComponent::per_layer_embedding);
      break;
    default:
      break;
  }
  return share;
}

std::string mix_text(const Share& share) {
  std::string text;
  for (const auto& [format, bytes] : share.formats) {
    const double percent =
        100.0 * static_cast<double>(bytes) / static_cast<double>(share.totals.bytes);
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {:.0f} %", format, percent);
  }
  return text;
}

constexpr double kTolerance = 0.01;
// Beyond these the file and the spec count different things, of which a warning tells.
constexpr double kFewestBits = 0.5;
constexpr double kMostBits = 64.0;

void set_component(ImportedModel& model, Component component, double elements, const Share& share,
                   FindFormat find) {
  const std::string_view name = kComponentNames[static_cast<std::size_t>(component)];
  if (share.totals.bytes == 0 || elements <= 0.0) return;
  Storage& storage = model.spec.formats[component];
  const std::optional<FormatId> format = find(share.formats.front().first);
  if (format) storage.format = *format;
  storage.bits = 8.0 * static_cast<double>(share.totals.bytes) / elements;
  if (storage.bits < kFewestBits || storage.bits > kMostBits) storage = storage_of(storage.format);
  model.fields.push_back(
      {fmt::format("tensors.{}", name),
       fmt::format("{} B in {} tensors, {:.4g} bits an element: {}", share.totals.bytes,
                   share.totals.tensors, storage.bits, mix_text(share)),
       FieldStatus::read});
  const auto stored = static_cast<double>(share.totals.elements);
  if (format && std::abs(stored - elements) > kTolerance * elements)
    model.warnings.push_back(
        fmt::format("{}: the file holds {:.0f} elements where the imported architecture has {:.0f}",
                    name, stored, elements));
}

}  // namespace

void set_formats_from_census(ImportedModel& model, const TensorCensus& census, FindFormat find) {
  Elements elements = spec_elements(model.spec);
  for (const Component component :
       {Component::attention, Component::dense_ffn, Component::routed_experts,
        Component::shared_experts, Component::router, Component::lm_head, Component::embedding})
    set_component(model, component, at(elements, component),
                  share_of(census, component, model.spec), find);
  // Without a table of its own the embedding is the head's.
  if (at(elements, Component::embedding) <= 0.0)
    model.spec.formats[Component::embedding] = model.spec.formats[Component::lm_head];
}

}  // namespace roofcast
