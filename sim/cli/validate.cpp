#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "model/base/error.hpp"
#include "model/reference/cpu/topology.hpp"
#include "model/reference/measure_decode.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/command_line.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/overrides.hpp"
#include "sim/compare_step.hpp"
#include "sim/make_cost_model.hpp"
#include "sim/reference_state.hpp"
#include "sim/report/prediction_report.hpp"
#include "sim/report/validation_report.hpp"
#include "sim/validation_grid.hpp"

namespace roofcast {
namespace {

constexpr double kGridMedianError = 0.05;
constexpr double kGridP90Error = 0.10;
/// Measuring of all the grid's steps together, without filling weights and caches.
constexpr double kGridSeconds = 300.0;
constexpr double kShortestPoint = 0.5;
constexpr double kLongestPoint = 5.0;
/// Of the memory that is free, the share that a case may take.
constexpr double kMemoryShare = 0.9;

std::vector<OptionRow> validate_options() {
  std::vector<OptionRow> rows = {
      {"device", "DEVICE", "where to measure: cpu", "cpu"},
      {"hardware", "FILE", "the calibrated YAML of this machine, as `calibrate` wrote it"},
      {"grid", "", "measures the validation cases; so without --model"},
      {"cases", "LIST", "these validation cases only"},
      {"model", "LIST", "measures these models instead, with random weights"},
      {"contexts", "LIST", "with --model: tokens already in each cache; 128,1024,4096 by default"},
      {"batches", "LIST", "with --model: sequences that decode together; 1,4 by default"},
      {"weight-format", "FORMAT", "format of attention, feed-forward and expert matrices"},
      {"kv-format", "FORMAT", "format of the KV cache, or K/V for one each: bf16, fp8 or int8"},
      {"kv-page-tokens", "N", "pages of N tokens in random order instead of contiguous caches"},
      set_option("overrides a field: model.KEY, hardware.KEY"),
      {"layers", "N", "measures the first N layers only, for models larger than memory"},
      {"threads", "N", "threads; those of the calibration by default"},
      {"max-error", "X",
       "exit code 1 when the median error of steps is above X; for the "
       "validation cases 0.05 (5 %) by default"},
      {"max-p90", "X",
       "the same for the 90th percentile, 0.1 by default, and for the median of "
       "each kind and format"},
      {"force", "", "takes a calibration of another machine"}};
  for (OptionRow& row : output_options()) rows.push_back(std::move(row));
  return rows;
}

/// Tokens of a page of the caches; 0: contiguous.
std::int64_t page_tokens(const Options& options) {
  if (!options.has("kv-page-tokens")) return 0;
  const std::int64_t tokens = options.integer("kv-page-tokens", kTokenStep, 1 << 20);
  if (tokens % kTokenStep != 0)
    throw UsageError(
        fmt::format("--kv-page-tokens: expected a multiple of {}, got {}", kTokenStep, tokens));
  return tokens;
}

/// A model without its last layers; what is left says so in its name.
ArchitectureSpec first_layers(ArchitectureSpec spec, std::int64_t layers) {
  if (layers >= static_cast<std::int64_t>(spec.layers.size())) return spec;
  spec.layers.resize(static_cast<std::size_t>(layers));
  spec.mtp_layers = 0;
  spec.name += fmt::format(" ({} layers)", layers);
  finish_architecture(spec);
  return spec;
}

/// The model as the command line has it measured; what differs from its file is in its name.
ArchitectureSpec measured_model(ArchitectureSpec spec, const Options& options) {
  if (options.has("layers"))
    spec = first_layers(std::move(spec), options.integer("layers", 1, 1'000'000));
  apply_formats({options.text_or("weight-format", ""), options.text_or("kv-format", "")}, spec);
  if (options.has("weight-format"))
    spec.name += fmt::format(" (weights {})", options.text("weight-format"));
  if (options.has("kv-format")) spec.name += fmt::format(" (KV {})", kv_format_text(spec));
  if (const std::int64_t tokens = page_tokens(options); tokens > 0)
    spec.name += fmt::format(" (pages of {})", tokens);
  return spec;
}

/// Refuses machines without a calibration, and calibrations of another machine.
void check_machine(const HardwareInput& hardware, const Options& options) {
  const std::string& name = options.text("hardware");
  if (!hardware.machine.calibration)
    throw SpecError(place_message(name, {}, "",
                                  "holds no calibration; `roofcast calibrate --device cpu --output "
                                  "cpu.yaml` makes one of this machine"));
  const Provenance& there = hardware.machine.calibration->provenance;
  const std::string here = this_topology().cpu_model;
  if (!options.has("force") && !here.empty() && there.device != here)
    throw SpecError(place_message(
        name, {}, "provenance.device",
        fmt::format("expected a calibration of this machine, {}, got one of {}; --force takes it",
                    in_quotes(here), in_quotes(there.device))));
}

/// A model and the steps of it that are measured.
struct Case {
  ArchitectureSpec spec;
  std::vector<DecodePoint> points;
};

std::vector<std::string> grid_names() {
  std::vector<std::string> names;
  for (const GridCase& row : validation_grid()) names.emplace_back(row.name);
  return names;
}

std::vector<Case> grid_cases(const Options& options) {
  for (const char* const name : {"model", "contexts", "batches"})
    if (options.has(name))
      throw UsageError(
          fmt::format("--{}: the validation cases have their own models and steps", name));
  const std::vector<std::string> known = grid_names();
  const std::vector<std::string> wanted = options.has("cases") ? options.names("cases") : known;
  std::vector<Case> cases;
  for (const std::string& name : wanted) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
      throw UsageError(fmt::format("--cases: expected some of {}, got {}{}", list_of(known),
                                   in_quotes(name), did_you_mean(name, known)));
    const GridCase& row = validation_grid()[static_cast<std::size_t>(found - known.begin())];
    Case one{grid_spec(row), {}};
    for (const GridPoint& point : row.points) one.points.push_back({point.batch, point.context});
    cases.push_back(std::move(one));
  }
  return cases;
}

std::vector<Case> model_cases(const Options& options, const std::vector<Override>& overrides) {
  Options lists = options;
  lists.values.try_emplace("batches", std::vector<std::string>{"1,4"});
  lists.values.try_emplace("contexts", std::vector<std::string>{"128,1024,4096"});
  const std::vector<DecodePoint> points = decode_points(
      lists.integers("batches", 1, kMaxBatch), lists.integers("contexts", 0, kLargestContext));
  std::vector<Case> cases;
  for (const std::string& name : options.names("model"))
    cases.push_back({load_model(name, overrides).spec, points});
  return cases;
}

bool on_grid(const Options& options) {
  return options.has("grid") || options.has("cases") || !options.has("model");
}

/// Refuses overrides of what this command takes as it is.
void check_scopes(const std::vector<Override>& overrides, bool grid) {
  for (const Override& one : overrides) {
    const std::string text = fmt::format("--set {}.{}: ", one.scope, one.key);
    if (one.scope == "model" && grid)
      throw UsageError(text + "the validation cases have their own models");
    if (one.scope == "engine") throw UsageError(text + "the engine is the one that is measured");
  }
}

std::vector<Case> make_cases(const Options& options, const std::vector<Override>& overrides) {
  std::vector<Case> cases =
      on_grid(options) ? grid_cases(options) : model_cases(options, overrides);
  for (Case& one : cases) one.spec = measured_model(std::move(one.spec), options);
  return cases;
}

/// Refuses before anything is measured what would run out of memory after minutes.
void check_memory(const std::vector<Case>& cases) {
  const auto available = static_cast<double>(available_memory_bytes());
  for (const Case& one : cases) {
    std::vector<GridPoint> points;
    for (const DecodePoint& point : one.points) points.push_back({point.batch, point.context});
    const GridMemory need = grid_memory(one.spec, points);
    if (available > 0.0 && need.total() > kMemoryShare * available)
      throw IoError(
          fmt::format("{} needs {:.3g} GB of weights and {:.3g} GB of cache, and {:.3g} "
                      "GB of memory are free; --layers and shorter --contexts take less",
                      one.spec.name, need.weights / 1e9, need.cache / 1e9, available / 1e9));
  }
}

MeasuredStep measured_step(const StepMeasurement& m) {
  MeasuredStep step{.batch = m.batch,
                    .context = m.context,
                    .seconds = m.step.median_s,
                    .operator_seconds = {},
                    .experts_hit = m.experts_hit,
                    .reference = {.read = m.reference_read, .dot = m.reference_dot}};
  for (const OperatorMeasurement& op : m.operators)
    step.operator_seconds.push_back(op.seconds.value);
  return step;
}

void append_points(const ArchitectureSpec& spec, const MeasuredStep& measured,
                   const HardwareInput& hardware, const EngineProfile& engine,
                   std::vector<ValidationPoint>& points) {
  const CostModel model =
      make_cost_model(at_reference(hardware.machine, measured.reference), engine);
  const std::vector<ValidationPoint> step =
      compare_step(spec, measured, operators_of(spec, measured), model);
  points.insert(points.end(), step.begin(), step.end());
}

/// Warnings about kernels of the models that the calibration lacks.
std::vector<std::string> unmeasured_of(const std::vector<Case>& cases,
                                       const HardwareInput& hardware) {
  const CostModel model = make_cost_model(hardware.machine, load_engine("reference", {}).profile);
  std::vector<std::string> warnings;
  for (const Case& one : cases)
    for (const std::string& text : unmeasured_warnings(unmeasured_primitives(one.spec, {}, model)))
      warnings.push_back(fmt::format("{}: {}", one.spec.name, text));
  return warnings;
}

void note_drift(const StepMeasurement& measured, Drift& drift) {
  const double read = measured.reference_read.value;
  drift.slowest = drift.points == 0 ? read : std::min(drift.slowest, read);
  drift.fastest = std::max(drift.fastest, read);
  ++drift.points;
  drift.unsteady += measured.steady ? 0 : 1;
}

MeasureOptions measure_options(const Options& options, const Calibration& calibration) {
  MeasureOptions request;
  request.engine.threads = options.has("threads")
                               ? static_cast<int>(options.integer("threads", 1, 4096))
                               : static_cast<int>(calibration.provenance.threads);
  request.engine.kv.page_tokens = page_tokens(options);
  return request;
}

ValidationResult measure_all(const std::vector<Case>& cases, MeasureOptions request, bool grid,
                             const HardwareInput& hardware, Console& console) {
  const EngineInput engine = load_engine("reference", {});
  const Calibration& calibration = *hardware.machine.calibration;
  ValidationResult result;
  if (calibration.reference) result.drift.calibrated = calibration.reference->read.value;
  ProgressLine line(console.err, progress_screen(console));
  std::size_t all = 0;
  for (const Case& one : cases) all += one.points.size();
  std::size_t done = 0;
  const auto start = std::chrono::steady_clock::now();
  for (const Case& one : cases) {
    const auto mine = static_cast<double>(one.points.size());
    const auto progress = [&](std::string_view what, double share) {
      const double part = (static_cast<double>(done) + share * mine) / static_cast<double>(all);
      line.update([&](double seconds) {
        return share_text(fmt::format("{} {}", one.spec.name, what), part, seconds);
      });
    };
    if (grid) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      request.stopping.max_seconds =
          std::clamp((kGridSeconds - spent.count()) / static_cast<double>(all - done),
                     kShortestPoint, kLongestPoint);
    }
    for (const StepMeasurement& measured :
         measure_decode(one.spec, one.points, request, progress)) {
      note_drift(measured, result.drift);
      append_points(one.spec, measured_step(measured), hardware, engine.profile, result.points);
    }
    done += one.points.size();
  }
  return result;
}

ErrorLimits error_limits(const Options& options) {
  ErrorLimits limits;
  if (on_grid(options)) limits = {.median = kGridMedianError, .p90 = kGridP90Error};
  if (options.has("max-error")) limits.median = options.number("max-error", 0.0, 10.0);
  if (options.has("max-p90")) limits.p90 = options.number("max-p90", 0.0, 10.0);
  return limits;
}

int run_validate(const Options& options, Console& console) {
  options.choice("device", {"cpu"});
  output_format(options);
  const ErrorLimits limits = error_limits(options);
  const std::vector<Override> overrides = parse_overrides(options.all("set"));
  check_scopes(overrides, on_grid(options));
  const std::vector<Case> cases = make_cases(options, overrides);
  const HardwareInput hardware = load_hardware_input(options.text("hardware"), overrides);
  check_machine(hardware, options);
  check_memory(cases);
  for (const std::string& text : unmeasured_of(cases, hardware)) warn(console, text);
  const MeasureOptions request = measure_options(options, *hardware.machine.calibration);
  Output output(options, console);
  ValidationResult result = measure_all(cases, request, on_grid(options), hardware, console);
  result.verdict = judge(points_with(result.points, &ValidationPoint::operator_name, kWholeStep),
                         result.drift, limits);
  write_report(validation_report(result), options, output, console);
  if (result.verdict == Verdict::above_error) return kExitNo;
  // Without a limit the figures were asked for, not a verdict.
  return limits.any() && result.verdict == Verdict::too_noisy ? kExitIo : kExitOk;
}

}  // namespace

Command validate_command() {
  return {"validate",
          "measures decode steps on this machine beside their predictions",
          "",
          "roofcast validate --device cpu --hardware cpu.yaml",
          validate_options,
          run_validate};
}

}  // namespace roofcast
