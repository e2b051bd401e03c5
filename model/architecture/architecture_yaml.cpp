#include "model/architecture/architecture_yaml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/architecture/fields.hpp"
#include "model/base/spec_reader.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kMaxLayers = 4096;

/// Refuses fields that contradict each other, each in its own range.
template <typename Kind>
void check_kind(const Kind& kind, const SpecReader& reader) {
  if constexpr (requires { kind.shape.n_kv_heads; }) {
    if (kind.shape.n_heads % kind.shape.n_kv_heads != 0)
      reader.fail("n_kv_heads", fmt::format("expected a divisor of n_heads ({}), got \"{}\"",
                                            kind.shape.n_heads, kind.shape.n_kv_heads));
  }
  if constexpr (requires { kind.n_experts_per_token; }) {
    if (kind.n_experts_per_token > kind.n_experts)
      reader.fail("n_experts_per_token", fmt::format("expected at most n_experts ({}), got \"{}\"",
                                                     kind.n_experts, kind.n_experts_per_token));
    if ((kind.n_shared_experts == 0) != (kind.shared_expert_dim == 0))
      reader.fail(kind.n_shared_experts == 0 ? "shared_expert_dim" : "n_shared_experts",
                  "expected n_shared_experts and shared_expert_dim together");
  }
}

template <typename Variant>
Variant read_kind(SpecReader reader) {
  const std::string wanted = reader.string("kind");
  std::vector<std::string> names;
  std::optional<Variant> result;
  for_each_kind<Variant>([&](auto kind) {
    names.emplace_back(decltype(kind)::kName);
    if (wanted != decltype(kind)::kName) return;
    FieldNames names_first{reader};
    decltype(kind)::visit_fields(kind, names_first);
    FieldReader fields(reader);
    decltype(kind)::visit_fields(kind, fields);
    reader.reject_unknown_keys();
    check_kind(kind, reader);
    result = kind;
  });
  if (!result) {
    const Value& at = *reader.node().find("kind");
    throw UnsupportedError(
        place_message(reader.file(), at.at, reader.path() + ".kind",
                      fmt::format("expected one of {}, got {}{}", fmt::join(names, ", "),
                                  in_quotes(wanted), did_you_mean(wanted, names))));
  }
  return *result;
}

/// Index of the definition called by `key`'s value.
template <typename Named>
int find_named(SpecReader& reader, std::string_view key, const std::vector<Named>& definitions) {
  const std::string wanted = reader.string(key);
  for (std::size_t i = 0; i < definitions.size(); ++i)
    if (definitions[i].name == wanted) return static_cast<int>(i);
  std::vector<std::string> names;
  for (const Named& definition : definitions) names.push_back(definition.name);
  return static_cast<int>(reader.choice(key, names));
}

template <typename Named, typename Variant>
std::vector<Named> read_definitions(SpecReader& root, std::string_view key) {
  const SpecReader map = root.child(key);
  const auto& members = map.node().members;
  if (members.size() > kMaxLayers)
    root.fail(key, fmt::format("expected at most {} named kinds, as many as layers, got {}",
                               kMaxLayers, members.size()));
  std::vector<Named> definitions;
  for (const auto& [name, value] : members)
    definitions.push_back({name, read_kind<Variant>(SpecReader(value, root.file(),
                                                               fmt::format("{}.{}", key, name)))});
  if (definitions.empty()) root.fail(key, "expected at least one named kind");
  return definitions;
}

void append_layers(SpecReader& entry, const ArchitectureSpec& spec, std::vector<Layer>& out) {
  const auto room = static_cast<std::int64_t>(kMaxLayers);
  std::vector<Layer> part;
  std::int64_t times = 0;
  if (entry.has("pattern")) {
    times = entry.integer("repeat", 1, room);
    for (SpecReader& item : entry.children("pattern")) append_layers(item, spec, part);
  } else {
    times = entry.integer("count", 1, room);
    part.push_back(
        {find_named(entry, "attention", spec.mixers), find_named(entry, "ffn", spec.ffns)});
  }
  entry.reject_unknown_keys();
  if (part.empty()) entry.fail("pattern", "expected at least one layer");
  if (out.size() + part.size() * static_cast<std::size_t>(times) > kMaxLayers)
    entry.fail(entry.has("pattern") ? "repeat" : "count",
               fmt::format("expected at most {} layers in all", kMaxLayers));
  for (std::int64_t i = 0; i < times; ++i) out.insert(out.end(), part.begin(), part.end());
}

/// A format is a name, or {format: q4_K, bits: 4.9} where a file mixes formats in one component.
Storage read_storage(SpecReader& formats, std::string_view key) {
  if (!formats.value(key).is_map()) return storage_of(formats.format(key));
  SpecReader map = formats.child(key);
  Storage storage = storage_of(map.format("format"));
  storage.bits = map.number("bits", 0.5, 64.0);
  map.reject_unknown_keys();
  return storage;
}

constexpr std::array kLinearComponents = {Component::attention, Component::dense_ffn,
                                          Component::routed_experts, Component::shared_experts};

Formats read_formats(SpecReader reader) {
  Formats formats;
  const auto set = [&](std::string_view key, auto... components) {
    reader.accept(key);
    if (!reader.has(key)) return;
    const Storage storage = read_storage(reader, key);
    ((formats[components] = storage), ...);
  };
  set("weights", kLinearComponents[0], kLinearComponents[1], kLinearComponents[2],
      kLinearComponents[3]);
  set("kv", Component::k, Component::v, Component::indexer);
  for (std::size_t i = 0; i < kComponentNames.size(); ++i)
    set(kComponentNames[i], static_cast<Component>(i));
  reader.reject_unknown_keys();
  return formats;
}

void read_extras(SpecReader& root, ArchitectureSpec& spec) {
  if (auto published = root.optional_child("published")) {
    PublishedCounts counts;
    counts.total_params = published->number("total_params", 1.0, 1e16);
    counts.active_params = published->optional_number("active_params", 1.0, 1e16);
    counts.active_includes_embedding = published->boolean_or("active_includes_embedding", false);
    counts.active_includes_head = published->boolean_or("active_includes_head", true);
    counts.counts_embeddings = published->boolean_or("counts_embeddings", true);
    counts.counts_resident = published->boolean_or("counts_resident", true);
    counts.counts_mtp = published->boolean_or("counts_mtp", false);
    counts.source = published->string("source");
    published->reject_unknown_keys();
    spec.published = counts;
  }
  if (auto table = root.optional_child("per_layer_embedding")) {
    spec.per_layer_embedding = PerLayerEmbedding{table->integer("vocab_size", 1, 1 << 26),
                                                 table->integer("dim", 1, 1 << 20)};
    table->reject_unknown_keys();
  }
  root.accept("resident");
  if (!root.has("resident")) return;
  for (SpecReader& part : root.children("resident")) {
    spec.resident.push_back({part.string("name"), part.number("params", 1.0, 1e15)});
    part.reject_unknown_keys();
  }
}

void check_schema(SpecReader& root) {
  if (root.integer("schema", 0, 1000000) != 1)
    root.fail("schema", "this program reads schema 1 of architecture specs");
}

std::string storage_text(const Storage& storage) {
  if (storage == storage_of(storage.format)) return std::string(storage.format.name());
  return fmt::format("{{format: {}, bits: {}}}", storage.format.name(), storage.bits);
}

std::string formats_text(const Formats& formats) {
  std::vector<std::string> parts;
  const Formats defaults;
  for (std::size_t i = 0; i < kComponentNames.size(); ++i)
    if (formats.components[i] != defaults.components[i])
      parts.push_back(
          fmt::format("{}: {}", kComponentNames[i], storage_text(formats.components[i])));
  return parts.empty() ? "" : fmt::format("formats: {{{}}}\n", fmt::join(parts, ", "));
}

/// A YAML double-quoted scalar.
std::string yaml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string published_text(const PublishedCounts& counts) {
  std::string out = fmt::format("published: {{total_params: {}", counts.total_params);
  if (counts.active_params) out += fmt::format(", active_params: {}", *counts.active_params);
  if (counts.active_includes_embedding) out += ", active_includes_embedding: true";
  if (!counts.active_includes_head) out += ", active_includes_head: false";
  if (!counts.counts_embeddings) out += ", counts_embeddings: false";
  if (!counts.counts_resident) out += ", counts_resident: false";
  if (counts.counts_mtp) out += ", counts_mtp: true";
  return out + fmt::format(", source: {}}}\n", yaml_text(counts.source));
}

template <typename Named>
std::string definitions_text(std::string_view head, const std::vector<Named>& definitions) {
  std::string out = fmt::format("{}:\n", head);
  for (const Named& definition : definitions) {
    FieldWriter fields;
    std::visit([&](const auto& kind) { std::decay_t<decltype(kind)>::visit_fields(kind, fields); },
               definition.kind);
    out += fmt::format("  {}: {{kind: {}", definition.name, kind_name(definition.kind));
    for (const std::string& part : fields.parts) out += ", " + part;
    out += "}\n";
  }
  return out;
}

std::string run_text(const ArchitectureSpec& spec, const Layer& layer, std::size_t count) {
  return fmt::format("{{count: {}, attention: {}, ffn: {}}}", count,
                     spec.mixers[static_cast<std::size_t>(layer.mixer)].name,
                     spec.ffns[static_cast<std::size_t>(layer.ffn)].name);
}

/// Whether `layers` from `start` repeat with `period` at least twice; returns how often.
std::size_t repeats(const std::vector<Layer>& layers, std::size_t start, std::size_t period) {
  std::size_t times = 1;
  while (start + (times + 1) * period <= layers.size() &&
         std::equal(layers.begin() + static_cast<std::ptrdiff_t>(start),
                    layers.begin() + static_cast<std::ptrdiff_t>(start + period),
                    layers.begin() + static_cast<std::ptrdiff_t>(start + times * period)))
    ++times;
  return times;
}

std::string runs_text(const ArchitectureSpec& spec, std::size_t begin, std::size_t end) {
  std::vector<std::string> runs;
  for (std::size_t i = begin; i < end;) {
    std::size_t stop = i + 1;
    while (stop < end && spec.layers[stop] == spec.layers[i]) ++stop;
    runs.push_back(run_text(spec, spec.layers[i], stop - i));
    i = stop;
  }
  return fmt::format("{}", fmt::join(runs, ", "));
}

/// Layers as runs and cycles: at each place the shortest cycle that covers most layers wins.
std::string layers_text(const ArchitectureSpec& spec) {
  std::string out = "layers:\n";
  const std::vector<Layer>& layers = spec.layers;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t best_period = 1;
    std::size_t best_cover = repeats(layers, i, 1);
    for (std::size_t period = 2; period <= 16 && i + 2 * period <= layers.size(); ++period) {
      const std::size_t times = repeats(layers, i, period);
      if (times > 1 && times * period > best_cover + period) {
        best_cover = times * period;
        best_period = period;
      }
    }
    if (best_period == 1)
      out += fmt::format("  - {}\n", run_text(spec, layers[i], best_cover));
    else
      out += fmt::format("  - {{repeat: {}, pattern: [{}]}}\n", best_cover / best_period,
                         runs_text(spec, i, i + best_period));
    i += best_cover;
  }
  return out;
}

}  // namespace

ArchitectureSpec read_architecture(const Document& document) {
  SpecReader root(document.root, document.file);
  check_schema(root);
  ArchitectureSpec spec;
  spec.name = root.string("name");
  spec.title = root.optional_string("title").value_or("");
  spec.source = root.optional_string("source").value_or("");
  spec.hidden_dim = root.integer("hidden_dim", 1, 1 << 24);
  spec.vocab_size = root.integer("vocab_size", 1, 1 << 26);
  spec.tied_embeddings = root.boolean_or("tied_embeddings", false);
  spec.max_context = root.integer_or("max_context", 0);
  FieldReader fields(root);
  fields("norm", spec.norm);
  fields("block_order", spec.block_order);
  spec.norms_per_block = root.integer_or("norms_per_block", 1, 1, 2);
  spec.hyper_streams = root.integer_or("hyper_streams", 0, 0, 64);
  spec.attention_residual_block = root.integer_or("attention_residual_block", 0, 0, 4096);
  spec.position_embeddings = root.integer_or("position_embeddings", 0, 0, 1 << 26);
  spec.lm_head_bias = root.boolean_or("lm_head_bias", false);
  spec.mtp_layers = root.integer_or("mtp_layers", 0, 0, 64);
  read_extras(root, spec);
  spec.mixers = read_definitions<NamedMixer, Mixer>(root, "attention");
  spec.ffns = read_definitions<NamedFfn, FeedForward>(root, "ffn");
  for (SpecReader& entry : root.children("layers")) append_layers(entry, spec, spec.layers);
  if (spec.layers.empty()) root.fail("layers", "expected at least one layer");
  if (auto formats = root.optional_child("formats")) spec.formats = read_formats(*formats);
  root.reject_unknown_keys();
  finish_architecture(spec);
  return spec;
}

std::string write_architecture_yaml(const ArchitectureSpec& spec) {
  std::string out = fmt::format("schema: 1\nname: {}\n", yaml_text(spec.name));
  if (!spec.title.empty()) out += fmt::format("title: {}\n", yaml_text(spec.title));
  if (!spec.source.empty()) out += fmt::format("source: {}\n", yaml_text(spec.source));
  if (spec.published) out += published_text(*spec.published);
  out += fmt::format("hidden_dim: {}\nvocab_size: {}\ntied_embeddings: {}\n", spec.hidden_dim,
                     spec.vocab_size, spec.tied_embeddings);
  if (spec.max_context > 0) out += fmt::format("max_context: {}\n", spec.max_context);
  FieldWriter enums;
  enums("norm", spec.norm);
  enums("block_order", spec.block_order);
  for (const std::string& line : enums.parts) out += line + "\n";
  if (spec.norms_per_block != 1) out += fmt::format("norms_per_block: {}\n", spec.norms_per_block);
  if (spec.hyper_streams > 0) out += fmt::format("hyper_streams: {}\n", spec.hyper_streams);
  if (spec.attention_residual_block > 0)
    out += fmt::format("attention_residual_block: {}\n", spec.attention_residual_block);
  if (spec.position_embeddings > 0)
    out += fmt::format("position_embeddings: {}\n", spec.position_embeddings);
  if (spec.lm_head_bias) out += "lm_head_bias: true\n";
  if (spec.mtp_layers > 0) out += fmt::format("mtp_layers: {}\n", spec.mtp_layers);
  if (spec.per_layer_embedding)
    out += fmt::format("per_layer_embedding: {{vocab_size: {}, dim: {}}}\n",
                       spec.per_layer_embedding->vocab_size, spec.per_layer_embedding->dim);
  if (!spec.resident.empty()) {
    out += "resident:\n";
    for (const ResidentPart& part : spec.resident)
      out += fmt::format("  - {{name: {}, params: {}}}\n", yaml_text(part.name), part.params);
  }
  out += definitions_text("attention", spec.mixers);
  out += definitions_text("ffn", spec.ffns);
  out += layers_text(spec);
  return out + formats_text(spec.formats);
}

}  // namespace roofcast
