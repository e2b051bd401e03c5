#pragma once

#include <string>
#include <vector>

#include "hardware/src/machine.hpp"
#include "sim/memory_need.hpp"
#include "sim/provenance.hpp"
#include "sim/report/report.hpp"
#include "sim/step_estimate.hpp"

namespace roofcast {

/// A prediction and what it was made from.
struct Prediction {
  const ArchitectureSpec& spec;
  const Machine& machine;
  const EngineProfile& engine;
  const CostModel& cost_model;
  std::string hardware;  // as the user named it
  Workload load;
  DecodeEstimate decode;
  PrefillEstimate prefill;
  MemoryNeed memory;
  std::vector<std::string> unmeasured = {};  // kernels that the machine's calibration lacks
  std::vector<ProvenanceRow> provenance;
  std::vector<std::string> warnings;
};

/// The answer of `roofcast predict`: decode, time share, memory, prefill, provenance.
Report prediction_report(const Prediction& prediction);

/// What about the workload deserves a warning: context above the model's maximum, memory short.
std::vector<std::string> workload_warnings(const ArchitectureSpec& spec, const Machine& machine,
                                           const Workload& load, const MemoryNeed& memory);

/// Head of a report: names and workload.
Section subject_section(const ArchitectureSpec& spec, const std::string& hardware,
                        const EngineProfile& engine, const Workload& load);
/// The time shares of a step, as fractions of it, largest first for people.
Section share_section(const StepEstimate& step);
Table provenance_table(const std::vector<ProvenanceRow>& rows);
/// The warnings, for scripts: people see them on standard error.
Table warning_table(const std::vector<std::string>& warnings);

/// "bf16", or what the components differ in: "fp8_block128, router bf16".
std::string weight_format_text(const ArchitectureSpec& spec);
std::string kv_format_text(const ArchitectureSpec& spec);

}  // namespace roofcast
