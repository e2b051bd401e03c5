#pragma once

#include <string>
#include <vector>

#include "hardware/src/machine_spec.hpp"
#include "model/base/document.hpp"

namespace roofcast {

/// Reads a machine file (see hardware/h100-sxm.yaml for its form). `generations` are the names that
/// `generation:` may have. Throws SpecError for anything that is missing, misspelt, of the wrong
/// unit, without a source, or a sparse peak.
MachineSpec read_machine(const Document& document, const std::vector<std::string>& generations);

/// `read_machine` with the generations that `load_generations` knows.
MachineSpec read_machine(const Document& document);

}  // namespace roofcast
