#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/document.hpp"

namespace roofcast {

/// Names of the machine files, shipped and in $ROOFCAST_DATA/hardware, sorted.
std::vector<std::string> list_machines();

/// Names of the machines that have a calibrated file, sorted.
std::vector<std::string> list_calibrated_machines();

/// The machine file of this name; files in $ROOFCAST_DATA/hardware win. Throws SpecError that names
/// the nearest machine for an unknown name.
Document machine_file(const std::string& name);

/// The same for hardware/calibrated.
Document calibrated_file(const std::string& name);

/// hardware/generations.yaml, shipped or from $ROOFCAST_DATA.
Document generations_file();

}  // namespace roofcast
