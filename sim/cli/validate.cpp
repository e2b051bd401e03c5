#include <fmt/format.h>

#include <algorithm>

#include "model/base/error.hpp"
#include "model/operators/decode_step.hpp"
#include "model/reference/cpu/topology.hpp"
#include "model/reference/measure_decode.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/command_line.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/output.hpp"
#include "sim/make_cost_model.hpp"
#include "sim/reference_state.hpp"
#include "sim/report/prediction_report.hpp"
#include "sim/report/validation_report.hpp"
#include "sim/step_estimate.hpp"

namespace roofcast {
namespace {

std::vector<OptionRow> validate_options() {
  std::vector<OptionRow> rows = {
      {"device", "DEVICE", "where to measure: cpu", "cpu"},
      {"model", "LIST", "models whose decode step is measured, with random weights"},
      {"hardware", "FILE", "the calibrated YAML of this machine, as `calibrate` wrote it"},
      {"contexts", "LIST", "tokens already in each cache", "128,1024,4096"},
      {"batches", "LIST", "sequences that decode together", "1,4"},
      {"kv-format", "FORMAT", "format of the KV cache, or K/V for one each: bf16, fp8 or int8"},
      {"kv-page-tokens", "N", "pages of N tokens in random order instead of contiguous caches"},
      {"layers", "N", "measures the first N layers only, for models larger than memory"},
      {"threads", "N", "threads; those of the calibration by default"},
      {"max-error", "X", "exit code 1 when the median error of steps is above X (0.1: 10 %)"},
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
ArchitectureSpec measured_model(const std::string& name, const Options& options) {
  ArchitectureSpec spec = load_model(name, {}).spec;
  if (options.has("layers"))
    spec = first_layers(std::move(spec), options.integer("layers", 1, 1'000'000));
  if (options.has("kv-format")) {
    apply_formats({.weights = {}, .kv = options.text("kv-format")}, spec);
    spec.name += fmt::format(" (KV {})", kv_format_text(spec));
  }
  if (const std::int64_t tokens = page_tokens(options); tokens > 0)
    spec.name += fmt::format(" (pages of {})", tokens);
  return spec;
}

std::string kinds_text(const ArchitectureSpec& spec) {
  std::string text;
  for (const LayerClass& layer : spec.classes) {
    const std::string kind(
        kind_name(spec.mixers[static_cast<std::size_t>(layer.layer.mixer)].kind));
    if (text.find(kind) == std::string::npos) text += (text.empty() ? "" : "+") + kind;
  }
  return text;
}

/// The format of the weights, and those of the cache where they are others.
std::string format_text(const ArchitectureSpec& spec) {
  const Formats& formats = spec.formats;
  std::string text(formats[Component::attention].format.name());
  if (formats[Component::k] == formats[Component::attention] &&
      formats[Component::v] == formats[Component::attention])
    return text;
  return fmt::format("{}, KV {}", text, kv_format_text(spec));
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

/// Points of one measured step: the whole step, then its operators.
void append_points(const ArchitectureSpec& spec, const StepMeasurement& measured,
                   const HardwareInput& hardware, const EngineProfile& engine,
                   std::vector<ValidationPoint>& points) {
  const Machine machine = at_reference(
      hardware.machine, {.read = measured.reference_read, .dot = measured.reference_dot});
  const CostModel model = make_cost_model(machine, engine);
  const OperatorList operators =
      decode_step(spec, {.sequences = static_cast<double>(measured.batch),
                         .context = static_cast<double>(measured.context),
                         .experts_hit = measured.experts_hit});
  const StepEstimate step = estimate_step(operators, model);
  ValidationPoint point;
  point.case_name =
      fmt::format("{} batch {} context {}", spec.name, measured.batch, measured.context);
  point.operator_name = "step";
  point.kind = kinds_text(spec);
  point.format = format_text(spec);
  point.batch = measured.batch;
  point.measured_s = measured.step.median_s;
  point.predicted_s = step.seconds;
  point.low_s = step.low_s;
  point.high_s = step.high_s;
  point.reference_read = measured.reference_read.value;
  points.push_back(point);
  const double working_set = step.work.bytes.memory().value;
  for (std::size_t i = 0; i < operators.size() && i < measured.operators.size(); ++i) {
    const Operator& op = operators[i];
    point.operator_name = std::string(op.name);
    point.measured_s = measured.operators[i].seconds.value;
    const OperatorCost cost = cost_operator(op, model, working_set);
    point.predicted_s = cost.seconds * op.count;
    point.low_s = point.predicted_s * cost.low;
    point.high_s = point.predicted_s * cost.high;
    points.push_back(point);
  }
}

/// Warnings about kernels of the models that the calibration lacks.
std::vector<std::string> unmeasured_of(const std::vector<ArchitectureSpec>& specs,
                                       const HardwareInput& hardware) {
  const CostModel model = make_cost_model(hardware.machine, load_engine("reference", {}).profile);
  std::vector<std::string> warnings;
  for (const ArchitectureSpec& spec : specs)
    for (const std::string& text : unmeasured_warnings(unmeasured_primitives(spec, {}, model)))
      warnings.push_back(fmt::format("{}: {}", spec.name, text));
  return warnings;
}

void note_drift(const StepMeasurement& measured, Drift& drift) {
  const double read = measured.reference_read.value;
  drift.slowest = drift.points == 0 ? read : std::min(drift.slowest, read);
  drift.fastest = std::max(drift.fastest, read);
  ++drift.points;
  drift.unsteady += measured.steady ? 0 : 1;
}

ValidationResult measure_all(const Options& options, const std::vector<ArchitectureSpec>& specs,
                             const HardwareInput& hardware, Console& console) {
  const EngineInput engine = load_engine("reference", {});
  MeasureOptions request;
  const Calibration& calibration = *hardware.machine.calibration;
  request.engine.threads = options.has("threads")
                               ? static_cast<int>(options.integer("threads", 1, 4096))
                               : static_cast<int>(calibration.provenance.threads);
  request.engine.kv.page_tokens = page_tokens(options);
  const auto batches = options.integers("batches", 1, kMaxBatch);
  const auto contexts = options.integers("contexts", 0, kLargestContext);
  ValidationResult result;
  if (calibration.reference) result.drift.calibrated = calibration.reference->read.value;
  ProgressLine line(console.err, progress_screen(console));
  for (const ArchitectureSpec& spec : specs) {
    const auto progress = [&](std::string_view what, double done) {
      line.update([&](double seconds) {
        return share_text(fmt::format("{} {}", spec.name, what), done, seconds);
      });
    };
    for (const StepMeasurement& measured :
         measure_decode(spec, batches, contexts, request, progress)) {
      note_drift(measured, result.drift);
      append_points(spec, measured, hardware, engine.profile, result.points);
    }
  }
  return result;
}

int run_validate(const Options& options, Console& console) {
  options.choice("device", {"cpu"});
  output_format(options);
  const std::optional<double> max_error =
      options.has("max-error") ? std::optional(options.number("max-error", 0.0, 10.0))
                               : std::nullopt;
  options.integers("batches", 1, kMaxBatch);
  options.integers("contexts", 0, kLargestContext);
  const HardwareInput hardware = load_hardware_input(options.text("hardware"), {});
  check_machine(hardware, options);
  std::vector<ArchitectureSpec> specs;
  for (const std::string& name : options.names("model"))
    specs.push_back(measured_model(name, options));
  for (const std::string& text : unmeasured_of(specs, hardware)) warn(console, text);
  Output output(options, console);
  ValidationResult result = measure_all(options, specs, hardware, console);
  result.verdict =
      judge(summarize(points_with(result.points, &ValidationPoint::operator_name, "step")),
            result.drift, max_error);
  write_report(validation_report(result), options, output, console);
  if (result.verdict == Verdict::above_error) return kExitNo;
  // Without --max-error the figures were asked for, not a verdict.
  return max_error && result.verdict == Verdict::too_noisy ? kExitIo : kExitOk;
}

}  // namespace

Command validate_command() {
  return {"validate",
          "measures decode steps on this machine beside their predictions",
          "",
          "roofcast validate --device cpu --model qwen3-0.6b --hardware cpu.yaml",
          validate_options,
          run_validate};
}

}  // namespace roofcast
