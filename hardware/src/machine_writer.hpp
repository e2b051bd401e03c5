#pragma once

#include <string>

#include "hardware/src/machine_spec.hpp"

namespace roofcast {

/// The text of a machine file, each line behind `indent` blanks. `read_machine` reads it back to an
/// equal spec.
std::string write_machine_yaml(const MachineSpec& machine, int indent = 0);

}  // namespace roofcast
