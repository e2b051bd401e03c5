#include "sim/cli/command.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/output.hpp"
#include "sim/make_cost_model.hpp"
#include "sim/report/prediction_report.hpp"

namespace roofcast {
namespace {

std::vector<OptionRow> predict_options() {
  std::vector<OptionRow> rows = input_options();
  rows.insert(rows.begin() + 5,
              {"output-tokens", "N", "averages over the growth of the context by N tokens", "1"});
  for (OptionRow& row : output_options()) rows.push_back(std::move(row));
  return rows;
}

int run_predict(const Options& options, Console& console) {
  output_format(options);
  const PredictionInputs in = read_prediction_inputs(options);
  Output output(options, console);
  OperatorList scratch;
  const MemoryNeed memory =
      memory_need(in.model.spec, resident_bytes_per_rank(in.model.spec, in.load.tp), in.load,
                  in.hardware.machine.spec.memory.front().usable().value);
  const std::vector<std::string> unmeasured =
      unmeasured_primitives(in.model.spec, in.load, in.cost_model);
  std::vector<std::string> warnings = in.model.warnings;
  warn(console, warnings);
  for (const std::vector<std::string>& texts :
       {workload_warnings(in.model.spec, in.hardware.machine, in.load, memory),
        unmeasured_warnings(unmeasured)}) {
    warn(console, texts);
    warnings.insert(warnings.end(), texts.begin(), texts.end());
  }
  const Prediction prediction{
      .spec = in.model.spec,
      .machine = in.hardware.machine,
      .engine = in.engine.profile,
      .cost_model = in.cost_model,
      .hardware = in.hardware.name,
      .load = in.load,
      .decode = estimate_decode(in.model.spec, in.load, in.cost_model, scratch),
      .prefill = estimate_prefill(in.model.spec, in.load, in.cost_model, scratch),
      .memory = memory,
      .unmeasured = unmeasured,
      .provenance = in.provenance(),
      .warnings = std::move(warnings)};
  write_report(prediction_report(prediction), options, output, console);
  return kExitOk;
}

}  // namespace

Command predict_command() {
  return {"predict",
          "tokens per second, what limits it, and the range",
          "",
          "roofcast predict --model llama-3.1-8b --hardware h100-sxm --batch 8 --context 4096",
          predict_options,
          run_predict};
}

}  // namespace roofcast
