#include "hardware/src/machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/src/data_files.hpp"
#include "hardware/src/machine_reader.hpp"
#include "model/base/catalogue_files.hpp"
#include "model/base/error.hpp"
#include "model/base/spec_reader.hpp"

namespace roofcast {
namespace {

constexpr std::string_view kNominal = "nominal/";
constexpr std::string_view kCalibrated = "calibrated/";

bool is_path(std::string_view text) {
  return !text.starts_with(kNominal) && !text.starts_with(kCalibrated) &&
         names_a_file(std::string(text), list_machines());
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Splits a calibrated file into machine and calibration; another file is a machine as it is.
HardwareFiles split(Document document) {
  if (document.root.find("calibration") == nullptr) return {std::move(document), std::nullopt};
  const Value* machine = document.root.find("machine");
  if (machine == nullptr)
    throw SpecError(place_message(document.file, document.root.at, "machine",
                                  "missing, expected a machine's name or spec"));
  HardwareFiles files;
  if (machine->is_scalar()) {
    const std::vector<std::string> names = list_machines();
    if (!contains(names, machine->scalar))
      throw SpecError(place_message(
          document.file, machine->at, "machine",
          fmt::format("expected a machine's name or spec, got {}{}", in_quotes(machine->scalar),
                      did_you_mean(machine->scalar, names))));
    files.machine = machine_file(machine->scalar);
  } else {
    files.machine = {document.file, *machine};
  }
  files.calibration = std::move(document);
  return files;
}

/// Refuses the fit of one kind of processor with the data sheet of another.
void check_kind(const Document& document, const Calibration& calibration, MachineKind kind) {
  const bool fits = calibration.device_kind == "cpu"
                        ? kind == MachineKind::cpu || kind == MachineKind::soc
                        : kind != MachineKind::cpu;
  if (fits) return;
  SpecReader(document.root, document.file)
      .fail("calibration", fmt::format("expected the calibration of a machine of kind {}, got {}",
                                       kMachineKindNames[static_cast<std::size_t>(kind)],
                                       in_quotes(calibration.device_kind)));
}

}  // namespace

HardwareFiles find_hardware(std::string_view name_or_path) {
  if (is_path(name_or_path)) return split(read_spec_file(std::string(name_or_path)));
  if (name_or_path.starts_with(kNominal))
    return split(machine_file(std::string(name_or_path.substr(kNominal.size()))));
  if (name_or_path.starts_with(kCalibrated))
    return split(calibrated_file(std::string(name_or_path.substr(kCalibrated.size()))));
  const std::string name(name_or_path);
  return split(contains(list_calibrated_machines(), name) ? calibrated_file(name)
                                                          : machine_file(name));
}

Machine read_hardware(const HardwareFiles& files) {
  const std::vector<Generation> generations = load_generations();
  Machine machine;
  machine.spec = read_machine(files.machine, generation_names(generations));
  for (const Generation& generation : generations)
    if (generation.name == machine.spec.generation) machine.generation = generation;
  if (files.calibration) {
    machine.calibration = read_calibration(*files.calibration);
    check_kind(*files.calibration, *machine.calibration, machine.spec.kind);
  }
  return machine;
}

Machine load_hardware(std::string_view name_or_path) {
  return read_hardware(find_hardware(name_or_path));
}

MachineSpec load_machine(std::string_view name_or_path) {
  return read_machine(find_hardware(name_or_path).machine);
}

}  // namespace roofcast
