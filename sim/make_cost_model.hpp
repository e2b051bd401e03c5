#pragma once

#include <string>
#include <vector>

#include "hardware/src/machine.hpp"
#include "sim/cost_model.hpp"
#include "sim/engine_profile.hpp"

namespace roofcast {

/// The constants of `engine` on `tp` devices of `machine`. Peaks are those of the data sheet; on a
/// machine without units for a format, the format that stands in there. Throws UnsupportedError
/// when no link joins that many devices, std::invalid_argument for tp below 1.
CostModel make_cost_model(const Machine& machine, const EngineProfile& engine, int tp = 1);

/// Why the range of an estimate is as wide as it is, one sentence.
std::string range_reason(const CostModel& model);

}  // namespace roofcast
