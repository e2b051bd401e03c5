#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/src/calibration.hpp"
#include "hardware/src/data_files.hpp"
#include "hardware/src/generation.hpp"
#include "hardware/src/machine_spec.hpp"
#include "model/base/document.hpp"

namespace roofcast {

/// All that is known of a device: data sheet, what its generation suggests, what was measured.
struct Machine {
  MachineSpec spec;
  Generation generation;
  std::optional<Calibration> calibration;
};

/// The files behind a machine, parsed but not read, so that values can be overridden in between.
struct HardwareFiles {
  Document machine;
  std::optional<Document> calibration;
};

/// Finds what `name_or_path` means:
///   a path (see `names_a_file`; a known folder prefix is none) to a machine file or to a
///   calibrated file;
///   "calibrated/NAME": the calibrated file of that name; "nominal/NAME": the machine file;
///   "NAME": the calibrated file if there is one, else the machine file.
/// A calibrated file's `machine:` is an inline spec or the name of a machine file. Files in
/// $ROOFCAST_DATA/hardware win over the shipped ones. Throws SpecError that names the nearest
/// machine for an unknown name (a machine is never replaced by another), IoError for a bad path.
HardwareFiles find_hardware(std::string_view name_or_path);

/// Reads what `find_hardware` found. Throws SpecError.
Machine read_hardware(const HardwareFiles& files);

/// `read_hardware(find_hardware(name_or_path))`.
Machine load_hardware(std::string_view name_or_path);

/// Reads only the data sheet part.
MachineSpec load_machine(std::string_view name_or_path);

}  // namespace roofcast
