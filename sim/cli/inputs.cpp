#include "sim/cli/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/catalogue.hpp"
#include "model/architecture/model_import.hpp"
#include "model/base/catalogue_files.hpp"
#include "model/base/error.hpp"
#include "sim/cli/command_line.hpp"
#include "sim/make_cost_model.hpp"
#include "sim/tensor_parallel.hpp"

namespace roofcast {
namespace {

const std::string kFromCommandLine = "command line (--set)";
constexpr std::string_view kCalibration = "calibration.";

/// Says of every value that was set where it comes from. A row about an overridden value of the
/// data sheet shows the new value already; others are added.
void record_overrides(const std::vector<Override>& applied, std::vector<ProvenanceRow>& rows) {
  const std::size_t read = rows.size();
  for (const Override& one : applied) {
    const std::string input = one.scope + "." + one.key;
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const ProvenanceRow& r) { return r.input == input; });
    if (row == rows.end()) {
      rows.push_back({input, one.value, kFromCommandLine});
      continue;
    }
    row->source = kFromCommandLine;
    if (static_cast<std::size_t>(row - rows.begin()) >= read) row->value = one.value;
  }
}

bool is_yaml(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

FormatId format_option(const std::string& option, const std::string& name) {
  const auto format = find_format(name);
  if (!format)
    throw UsageError(fmt::format("--{}: expected a number format, got {}{}", option,
                                 in_quotes(name), did_you_mean(name, format_names())));
  return *format;
}

}  // namespace

ArchitectureSpec overridden(const ArchitectureSpec& spec, const std::string& path,
                            const std::vector<Override>& overrides,
                            std::vector<Override>* applied) {
  Document document = parse_yaml(write_architecture_yaml(spec), path + " (imported)");
  const std::vector<Override> set = apply_overrides(overrides, "model", document);
  if (applied != nullptr) *applied = set;
  return set.empty() ? spec : read_architecture(document);
}

ModelInput load_model(const std::string& name_or_path, const std::vector<Override>& overrides) {
  ModelInput input;
  std::vector<Override> applied;
  const bool path = names_a_file(name_or_path, architecture_names());
  if (path && !is_yaml(name_or_path)) {
    ImportedModel imported = import_model_path(name_or_path);
    input.spec = overridden(imported.spec, name_or_path, overrides, &applied);
    input.warnings = std::move(imported.warnings);
    input.provenance = {{"model", input.spec.name, name_or_path}};
  } else {
    Document document = path ? read_spec_file(name_or_path) : find_architecture(name_or_path);
    applied = apply_overrides(overrides, "model", document);
    input.spec = read_architecture(document);
    input.provenance = provenance_of(input.spec);
    if (path) input.provenance.front().source += fmt::format(" (read from {})", name_or_path);
  }
  record_overrides(applied, input.provenance);
  return input;
}

HardwareInput load_hardware_input(const std::string& name_or_path,
                                  const std::vector<Override>& overrides) {
  HardwareFiles files = find_hardware(name_or_path);
  // "hardware.calibration.KEY" is of the calibrated file, any other key of the data sheet.
  std::vector<Override> calibrated;
  std::vector<Override> nominal;
  for (const Override& one : overrides) {
    const bool of_calibration = one.scope == "hardware" && one.key.starts_with(kCalibration);
    if (of_calibration && !files.calibration)
      throw SpecError(place_message(fmt::format("--set {}.{}", one.scope, one.key), {}, "",
                                    fmt::format("{} has no calibration", name_or_path)));
    if (of_calibration)
      calibrated.push_back(
          {"hardware.calibration", one.key.substr(kCalibration.size()), one.value});
    else
      nominal.push_back(one);
  }
  std::vector<Override> applied = apply_overrides(nominal, "hardware", files.machine);
  if (files.calibration)
    for (Override& one : apply_overrides(calibrated, "hardware.calibration", *files.calibration))
      applied.push_back(std::move(one));
  HardwareInput input{.name = {}, .machine = read_hardware(files), .provenance = {}};
  input.name = input.machine.spec.name;
  input.provenance = provenance_of(input.machine);
  record_overrides(applied, input.provenance);
  return input;
}

EngineInput load_engine(const std::string& name_or_path, const std::vector<Override>& overrides) {
  Document document = find_engine(name_or_path);
  const std::vector<Override> applied = apply_overrides(overrides, "engine", document);
  EngineInput input{read_engine(document), {}};
  input.provenance = provenance_of(input.profile);
  record_overrides(applied, input.provenance);
  return input;
}

void apply_formats(const FormatChoice& choice, ArchitectureSpec& spec) {
  if (!choice.weights.empty()) {
    const Storage storage = storage_of(format_option("weight-format", choice.weights));
    for (const Component c : {Component::attention, Component::dense_ffn, Component::routed_experts,
                              Component::shared_experts})
      spec.formats[c] = storage;
  }
  if (!choice.kv.empty()) {
    const std::size_t slash = choice.kv.find('/');
    const std::string k = choice.kv.substr(0, slash);
    const std::string v = slash == std::string::npos ? k : choice.kv.substr(slash + 1);
    spec.formats[Component::k] = storage_of(format_option("kv-format", k));
    spec.formats[Component::v] = storage_of(format_option("kv-format", v));
  }
}

std::vector<OptionRow> input_options() {
  return {
      {"model", "MODEL", "catalogue name, YAML, config.json, model folder, GGUF or safetensors"},
      {"hardware", "MACHINE", "catalogue name, or a machine or calibrated YAML file"},
      {"engine", "ENGINE", "engine profile: a name or a YAML file", "reference"},
      {"batch", "B", "sequences that decode together", "1"},
      {"context", "L", "tokens already in each cache (k = 1000, Ki = 1024)", "4096"},
      {"tp", "N", "tensor-parallel ranks", "1"},
      {"weight-format", "FORMAT", "format of attention, feed-forward and expert matrices"},
      {"kv-format", "FORMAT", "format of the KV cache, or K/V for one each"},
      set_option("overrides a field: model.KEY, hardware.KEY, engine.KEY")};
}

OptionRow set_option(std::string help) { return {"set", "KEY=VALUE", std::move(help), "", true}; }

std::vector<OptionRow> output_options() {
  return {
      {"format", "FORMAT", "table, json, csv or md; else by the ending of --output, else table"},
      {"output", "FILE", "writes to a file, which appears whole or not at all"}};
}

std::vector<ProvenanceRow> PredictionInputs::provenance() const {
  std::vector<ProvenanceRow> rows = model.provenance;
  rows.insert(rows.end(), hardware.provenance.begin(), hardware.provenance.end());
  rows.insert(rows.end(), engine.provenance.begin(), engine.provenance.end());
  return rows;
}

PredictionInputs read_prediction_inputs(const Options& options) {
  const std::vector<Override> overrides = parse_overrides(options.all("set"));
  PredictionInputs in;
  in.load.batch = options.integer("batch", 1, kLargestBatch);
  in.load.context = options.integer("context", 0, kLargestContext);
  in.load.tp = static_cast<int>(options.integer("tp", 1, kLargestTp));
  if (options.has("output-tokens"))
    in.load.output_tokens = options.integer("output-tokens", 1, kLargestContext);
  in.model = load_model(options.text("model"), overrides);
  in.hardware = load_hardware_input(options.text("hardware"), overrides);
  in.engine = load_engine(options.text("engine"), overrides);
  apply_formats({options.text_or("weight-format", ""), options.text_or("kv-format", "")},
                in.model.spec);
  for (const char* name : {"weight-format", "kv-format"})
    if (options.has(name))
      in.model.provenance.push_back(
          {name, options.text(name), fmt::format("command line (--{})", name)});
  try {
    in.cost_model = make_cost_model(in.hardware.machine, in.engine.profile, in.load.tp);
  } catch (const UnsupportedError& error) {
    throw UsageError(fmt::format("--tp: {}", error.what()));
  }
  const std::string problem = tensor_parallel_problem(in.model.spec, in.load.tp);
  if (!problem.empty()) throw UsageError("--tp: " + problem);
  return in;
}

}  // namespace roofcast
