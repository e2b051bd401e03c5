#pragma once

#include <string>
#include <vector>

#include "model/architecture/architecture_spec.hpp"
#include "model/base/document.hpp"

namespace roofcast {

/// Names of the shipped architectures, and of those in $ROOFCAST_DATA/architectures, sorted.
std::vector<std::string> architecture_names();

/// The YAML of the architecture called `name`: a file $ROOFCAST_DATA/architectures/NAME.yaml wins
/// over the one built into the program. Throws SpecError with the nearest name when there is none.
Document find_architecture(const std::string& name);

}  // namespace roofcast
