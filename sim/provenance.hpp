#pragma once

#include <string>
#include <vector>

#include "hardware/src/machine.hpp"
#include "model/architecture/architecture_spec.hpp"
#include "sim/engine_profile.hpp"

namespace roofcast {

/// Where one input of a prediction comes from.
struct ProvenanceRow {
  std::string input;   // "model", "hardware.memory.hbm3.bandwidth", "calibration"
  std::string value;   // what was taken
  std::string source;  // file, data sheet, measurement
};

std::vector<ProvenanceRow> provenance_of(const ArchitectureSpec& spec);
/// One row per value of the data sheet that costs rest on, then the calibration or the generation
/// whose typical efficiencies stand in.
std::vector<ProvenanceRow> provenance_of(const Machine& machine);
std::vector<ProvenanceRow> provenance_of(const EngineProfile& engine);

}  // namespace roofcast
