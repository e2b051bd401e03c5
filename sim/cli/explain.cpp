#include "sim/cli/command.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/output.hpp"
#include "sim/make_cost_model.hpp"
#include "sim/report/explain_report.hpp"
#include "sim/report/prediction_report.hpp"

namespace roofcast {
namespace {

std::vector<OptionRow> explain_options() {
  std::vector<OptionRow> rows = input_options();
  for (OptionRow& row : output_options()) rows.push_back(std::move(row));
  return rows;
}

int run_explain(const Options& options, Console& console) {
  output_format(options);
  const PredictionInputs in = read_prediction_inputs(options);
  Output output(options, console);
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
  const Report report = explain_report({.spec = in.model.spec,
                                        .machine = in.hardware.machine,
                                        .engine = in.engine.profile,
                                        .cost_model = in.cost_model,
                                        .hardware = in.hardware.name,
                                        .load = in.load,
                                        .unmeasured = unmeasured,
                                        .provenance = in.provenance(),
                                        .warnings = std::move(warnings)});
  write_report(report, options, output, console);
  return kExitOk;
}

}  // namespace

Command explain_command() {
  return {"explain",
          "the arithmetic of one decode step, operator by operator",
          "",
          "roofcast explain --model llama-3.1-8b --hardware h100-sxm --batch 64 --context 4096",
          explain_options,
          run_explain};
}

}  // namespace roofcast
