#include <fmt/format.h>

#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/model_import.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/output.hpp"
#include "sim/report/prediction_report.hpp"
#include "sim/report/spec_facts.hpp"

namespace roofcast {
namespace {

using K = ValueKind;

/// Contexts at which the cache is stated: with windows and compression it is no line through zero.
constexpr std::array<int, 3> kContexts = {4096, 32768, 131072};

Section totals(const ArchitectureSpec& spec) {
  const ParameterCount count = count_parameters(spec);
  const WeightBytes weights = weight_bytes(spec);
  Section s;
  s.metrics = {
      {"name", "name", K::text, spec.name},
      {"title", "title", K::text, spec.title, "", std::nullopt, Audience::scripts},
      {"parameters/total", "parameters", K::count, count.total},
      {"parameters/active", "active per token", K::count, count.active},
      {"parameters/embedding", "input embedding", K::count, count.embedding,
       spec.tied_embeddings ? "in both: it is the lm_head too"
                            : "not in active: a token reads a row"},
      {"parameters/mtp", "in MTP blocks", K::count, count.mtp, "on top: resident, not read"},
      {"parameters/resident", "in towers", K::count, count.resident, "on top: resident, not read"},
      {"weight_bytes/resident", "weights in memory", K::bytes, weights.resident.value,
       weight_format_text(spec)},
      {"weight_bytes/read_per_step_batch1", "weights read, batch 1", K::bytes,
       weights.read_per_step_batch1.value},
      {"kv/bytes_per_token", "KV per token", K::bytes, kv_bytes_per_token(spec).value,
       kv_format_text(spec)},
      {"kv/fixed_bytes_per_sequence", "state per sequence", K::bytes,
       cache_bytes(spec, 1.0).state.value}};
  for (Metric& metric : s.metrics)
    if ((metric.tag == "parameters/mtp" || metric.tag == "parameters/resident") &&
        std::get<double>(metric.value) == 0.0)
      metric.audience = Audience::scripts;
  for (const int context : kContexts) {
    const CacheBytes cache = cache_bytes(spec, context);
    s.metrics.push_back({fmt::format("kv/bytes_at_context/{}", context),
                         fmt::format("KV at {}", context), K::bytes, cache.kv.value});
  }
  return s;
}

Table field_table(const std::vector<ImportField>& fields) {
  Table table{.tag = "fields",
              .title = "Fields",
              .columns = {{"key", "key"}, {"value", "value"}, {"status", "status"}}};
  for (const ImportField& field : fields)
    table.rows.push_back({field.key, field.value,
                          std::string(kFieldStatusNames[static_cast<std::size_t>(field.status)])});
  return table;
}

std::vector<OptionRow> import_options() {
  return {set_option("overrides a field of the spec: model.KEY"),
          {"format", "FORMAT", "yaml, table, json, csv or md; else by the ending of --output"},
          {"output", "FILE", "writes to a file, which appears whole or not at all"}};
}

bool wants_yaml(const Options& options) {
  if (options.has("format")) return options.text("format") == "yaml";
  const std::string ending = output_ending(options);
  return ending == "yaml" || ending == "yml";
}

ImportedModel import_with(const std::vector<Override>& overrides, const std::string& path) {
  ImportedModel model = import_model_path(path);
  model.spec = overridden(model.spec, path, overrides);
  for (const Override& one : overrides) {
    if (one.scope != "model")
      throw UsageError(fmt::format("--set: an import has no {} to override", one.scope));
    model.fields.push_back({one.scope + "." + one.key, one.value, FieldStatus::overridden});
  }
  return model;
}

int run_import(const Options& options, Console& console) {
  const bool yaml = wants_yaml(options);
  if (!yaml) output_format(options, "yaml");
  if (!options.has("FILE"))
    throw UsageError("import: expected a file or folder, as in \"roofcast import config.json\"");
  const std::vector<Override> overrides = parse_overrides(options.all("set"));
  Output output(options, console);
  const ImportedModel model = import_with(overrides, options.text("FILE"));
  warn(console, model.warnings);
  Report report{.csv_table = "fields"};
  report.blocks = {totals(model.spec), attention_table(model.spec), field_table(model.fields),
                   warning_table(model.warnings)};
  if (!yaml) {
    write_report(report, options, output, console);
    return kExitOk;
  }
  output.write(write_architecture_yaml(model.spec));
  output.commit();
  // The account of the fields is the point of an import; the YAML goes to the file.
  if (output.to_file()) console.out << write_text(report, {.color = console.color});
  return kExitOk;
}

}  // namespace

Command import_command() {
  return {"import",       "a model file as a spec, with an account of every field",
          "FILE",         "roofcast import config.json --output my-model.yaml",
          import_options, run_import};
}

}  // namespace roofcast
