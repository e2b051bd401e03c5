#pragma once

#include <string>
#include <vector>

#include "hardware/src/machine.hpp"
#include "model/architecture/architecture_spec.hpp"
#include "sim/cost_model.hpp"
#include "sim/engine_profile.hpp"
#include "sim/workload.hpp"

namespace roofcast {

/// The constants of `engine` on `tp` devices of `machine`. Peaks are those of the data sheet; on a
/// machine without units for a format, the format that stands in there. Throws UnsupportedError
/// when no link joins that many devices, std::invalid_argument for tp below 1.
CostModel make_cost_model(const Machine& machine, const EngineProfile& engine, int tp = 1);

/// Names of the kernels that a decode step needs and that the machine's calibration lacks
/// ("moe_bf16"); empty for a machine without a calibration and for the data sheet's bound.
std::vector<std::string> unmeasured_primitives(const ArchitectureSpec& spec, const Workload& load,
                                               const CostModel& model);

/// What about `unmeasured` deserves a warning: one sentence, or none.
std::vector<std::string> unmeasured_warnings(const std::vector<std::string>& unmeasured);

/// Why the range of an estimate is as wide as it is, one sentence.
std::string range_reason(const CostModel& model, const std::vector<std::string>& unmeasured);

}  // namespace roofcast
