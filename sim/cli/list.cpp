#include <fmt/format.h>

#include <algorithm>

#include "hardware/src/data_files.hpp"
#include "hardware/src/machine_reader.hpp"
#include "model/architecture/catalogue.hpp"
#include "model/base/error.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/output.hpp"
#include "sim/report/spec_facts.hpp"

namespace roofcast {
namespace {

using K = ValueKind;
constexpr Audience kScripts = Audience::scripts;

using Overrides = std::vector<Override>;

Table architectures(const Overrides& overrides) {
  Table table{.tag = "architectures",
              .title = "Architectures",
              .columns = {{"name", "name"},
                          {"title", "title"},
                          {"parameters/total", "parameters", K::count},
                          {"parameters/active", "active", K::count},
                          {"layers", "layers", K::count},
                          {"attention", "attention"},
                          {"kv_bytes_per_token", "KV/token", K::bytes},
                          {"max_context", "context", K::count},
                          {"source", "source", K::text, kScripts}}};
  for (const std::string& name : architecture_names()) {
    const ArchitectureSpec spec = load_model(name, overrides).spec;
    const ParameterCount count = count_parameters(spec);
    std::vector<std::string_view> kinds;
    std::string text;
    for (const NamedMixer& mixer : spec.mixers) {
      const std::string_view kind = kind_name(mixer.kind);
      if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) continue;
      kinds.push_back(kind);
      text += (text.empty() ? "" : ", ") + std::string(kind);
    }
    table.rows.push_back(
        {name, spec.title, count.total, count.active, static_cast<double>(spec.layers.size()), text,
         kv_bytes_per_token(spec).value, static_cast<double>(spec.max_context), spec.source});
  }
  return table;
}

Table hardware(const Overrides& overrides) {
  Table table{.tag = "hardware",
              .title = "Hardware",
              .columns = {{"name", "name"},
                          {"title", "title"},
                          {"kind", "kind"},
                          {"generation", "generation"},
                          {"memory_bytes", "memory", K::bytes},
                          {"bandwidth", "bandwidth", K::byte_rate},
                          {"bf16_flops", "bf16", K::flop_rate},
                          {"calibrated", "calibrated"},
                          {"source", "source", K::text, kScripts}}};
  const std::vector<std::string> calibrated = list_calibrated_machines();
  const std::vector<std::string> generations = generation_names(load_generations());
  for (const std::string& name : list_machines()) {
    Document file = machine_file(name);
    apply_overrides(overrides, "hardware", file);
    const MachineSpec spec = read_machine(file, generations);
    const MemoryTier& memory = spec.memory.front();
    table.rows.push_back(
        {name, spec.title, std::string(kMachineKindNames[static_cast<std::size_t>(spec.kind)]),
         spec.generation, memory.capacity.value.value, memory.bandwidth.value.value,
         peak_flops(spec, ComputeFormat::bf16).flops.value,
         std::find(calibrated.begin(), calibrated.end(), name) != calibrated.end(),
         memory.bandwidth.source});
  }
  return table;
}

Table engines(const Overrides& overrides) {
  Table table{.tag = "engines",
              .title = "Engines",
              .columns = {{"name", "name"}, {"title", "title"}, {"source", "source"}}};
  for (const std::string& name : engine_names()) {
    const EngineProfile engine = load_engine(name, overrides).profile;
    table.rows.push_back({name, engine.title, engine.source});
  }
  return table;
}

Table formats(const Overrides&) {
  Table table{.tag = "formats",
              .title = "Number formats",
              .columns = {{"name", "name"},
                          {"bits_per_element", "bits", K::count},
                          {"compute", "computes in"},
                          {"layout", "layout"}}};
  for (const NumberFormat& format : kNumberFormats)
    table.rows.push_back({std::string(format.name), format.bits_per_element(),
                          std::string(compute_kind_name(format.compute)),
                          std::string(format.layout)});
  return table;
}

/// Names of a kind's fields.
struct KeyCollector {
  std::string keys;
  template <typename Field, typename... Rest>
  void operator()(std::string_view key, const Field&, Rest...) {
    keys += (keys.empty() ? "" : ", ") + std::string(key);
  }
};

template <typename Variant>
Table kinds(const char* tag, const char* title) {
  Table table{
      .tag = tag,
      .title = title,
      .columns = {{"name", "name"}, {"summary", "summary"}, {"keys", "keys", K::text, kScripts}}};
  for_each_kind<Variant>([&](const auto& kind) {
    using Kind = std::decay_t<decltype(kind)>;
    KeyCollector collector;
    Kind::visit_fields(kind, collector);
    table.rows.push_back({std::string(Kind::kName), std::string(Kind::kSummary), collector.keys});
  });
  return table;
}

struct Listing {
  std::string name;
  Table (*make)(const Overrides&);
};

const std::vector<Listing>& listings() {
  static const std::vector<Listing> kListings = {
      {"architectures", architectures},
      {"hardware", hardware},
      {"engines", engines},
      {"formats", formats},
      {"attention_kinds",
       [](const Overrides&) {
         return kinds<Mixer>("attention_kinds", "Attention and state kinds");
       }},
      {"ffn_kinds",
       [](const Overrides&) { return kinds<FeedForward>("ffn_kinds", "Feed-forward kinds"); }}};
  return kListings;
}

int run_list(const Options& options, Console& console) {
  std::vector<std::string> names;
  for (const Listing& listing : listings()) names.push_back(listing.name);
  const std::string wanted = options.text_or("WHAT", "");
  if (!wanted.empty() && std::find(names.begin(), names.end(), wanted) == names.end())
    throw UsageError(fmt::format("list: expected {}, got {}{}", list_of(names), in_quotes(wanted),
                                 did_you_mean(wanted, names)));
  if (wanted.empty() && output_format(options) == OutputFormat::csv)
    throw UsageError("list: CSV holds one list, as in \"roofcast list hardware --format csv\"");
  const Overrides overrides = parse_overrides(options.all("set"));
  Output output(options, console);
  Report report{.csv_table = wanted};
  for (const Listing& listing : listings())
    if (wanted.empty() || wanted == listing.name)
      report.blocks.emplace_back(listing.make(overrides));
  write_report(report, options, output, console);
  return kExitOk;
}

std::vector<OptionRow> list_options() {
  std::vector<OptionRow> rows = {
      set_option("overrides a field of every item: model.KEY, hardware.KEY, engine.KEY")};
  for (OptionRow& row : output_options()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace

Command list_command() {
  return {"list",       "architectures, hardware, engines, formats, attention_kinds, ffn_kinds",
          "WHAT",       "roofcast list hardware",
          list_options, run_list};
}

}  // namespace roofcast
