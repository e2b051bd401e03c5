#pragma once

#include <string>
#include <vector>

#include "hardware/src/machine.hpp"
#include "sim/provenance.hpp"
#include "sim/report/report.hpp"
#include "sim/step_estimate.hpp"

namespace roofcast {

/// What `explain_report` shows: one decode step, stage by stage.
struct Explanation {
  const ArchitectureSpec& spec;
  const Machine& machine;
  const EngineProfile& engine;
  const CostModel& cost_model;
  std::string hardware;
  Workload load;
  std::vector<std::string> unmeasured = {};  // kernels that the machine's calibration lacks
  std::vector<ProvenanceRow> provenance;
  std::vector<std::string> warnings;
};

/// Facts of the spec, one row per operator with shape, work, ceiling and time, the ceilings with
/// their origin, and the sums that make the step.
Report explain_report(const Explanation& explanation);

}  // namespace roofcast
