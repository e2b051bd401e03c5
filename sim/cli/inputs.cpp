#include "sim/cli/inputs.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/catalogue.hpp"
#include "model/architecture/model_import.hpp"
#include "model/base/error.hpp"
#include "sim/cli/command_line.hpp"
#include "sim/make_cost_model.hpp"
#include "sim/tensor_parallel.hpp"

namespace roofcast {
namespace {

constexpr std::array<std::string_view, 6> kModelFileEndings = {".yaml", ".yml",         ".json",
                                                               ".gguf", ".safetensors", "/"};

void add_override_rows(const std::vector<Override>& overrides, std::string_view scope,
                       std::vector<ProvenanceRow>& rows) {
  for (const Override& one : overrides)
    if (one.scope == scope)
      rows.push_back({one.scope + "." + one.key, one.value, "command line (--set)"});
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
                            const std::vector<Override>& overrides) {
  Document document = parse_yaml(write_architecture_yaml(spec), path + " (imported)");
  return apply_overrides(overrides, "model", document) ? read_architecture(document) : spec;
}

bool looks_like_path(const std::string& name) {
  for (const std::string_view ending : kModelFileEndings)
    if (name.ends_with(ending)) return true;
  std::error_code error;
  return name.find('/') != std::string::npos || std::filesystem::exists(name, error);
}

ModelInput load_model(const std::string& name_or_path, const std::vector<Override>& overrides) {
  ModelInput input;
  if (looks_like_path(name_or_path) && !is_yaml(name_or_path)) {
    ImportedModel imported = import_model_path(name_or_path);
    input.spec = overridden(imported.spec, name_or_path, overrides);
    input.warnings = std::move(imported.warnings);
    input.provenance = {{"model", input.spec.name, name_or_path}};
  } else {
    const bool path = looks_like_path(name_or_path);
    Document document = path ? parse_yaml(read_text_file(name_or_path), name_or_path)
                             : find_architecture(name_or_path);
    apply_overrides(overrides, "model", document);
    input.spec = read_architecture(document);
    input.provenance = provenance_of(input.spec);
    if (path) input.provenance.front().source += fmt::format(" (read from {})", name_or_path);
  }
  add_override_rows(overrides, "model", input.provenance);
  return input;
}

HardwareInput load_hardware_input(const std::string& name_or_path,
                                  const std::vector<Override>& overrides) {
  HardwareFiles files = find_hardware(name_or_path);
  // "hardware.calibration.KEY" is of the calibrated file, any other key of the data sheet.
  std::vector<Override> calibrated;
  std::vector<Override> nominal;
  for (const Override& one : overrides)
    (one.key.starts_with("calibration.") && files.calibration ? calibrated : nominal)
        .push_back(one);
  apply_overrides(nominal, "hardware", files.machine);
  if (files.calibration) apply_overrides(calibrated, "hardware", *files.calibration);
  HardwareInput input{.name = {}, .machine = read_hardware(files), .provenance = {}};
  input.name = input.machine.spec.name;
  input.provenance = provenance_of(input.machine);
  add_override_rows(overrides, "hardware", input.provenance);
  return input;
}

EngineInput load_engine(const std::string& name_or_path, const std::vector<Override>& overrides) {
  Document document = find_engine(name_or_path);
  apply_overrides(overrides, "engine", document);
  EngineInput input{read_engine(document), {}};
  input.provenance = provenance_of(input.profile);
  add_override_rows(overrides, "engine", input.provenance);
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
