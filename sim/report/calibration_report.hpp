#pragma once

#include "hardware/src/calibration.hpp"
#include "hardware/src/machine_spec.hpp"
#include "sim/report/report.hpp"

namespace roofcast {

/// What a calibration came to: one row per primitive, and how the machine behaved. `redone` points
/// were measured again because the machine changed under them, `unsteady` ones kept all the same.
Report calibration_report(const MachineSpec& machine, const Calibration& calibration, int redone,
                          int unsteady);

}  // namespace roofcast
