// Feeds text to the readers of machines, calibrations and generations.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/src/calibration.hpp"
#include "hardware/src/generation.hpp"
#include "hardware/src/machine_reader.hpp"
#include "hardware/src/machine_writer.hpp"
#include "model/base/document.hpp"
#include "model/base/error.hpp"

namespace {

/// Calls `read`; refusing the text is as good as reading it.
template <typename Read>
void try_read(Read read) {
  try {
    read();
  } catch (const roofcast::SpecError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> generations = {"hopper", "cpu"};
  try_read([&] {
    const roofcast::Document document =
        roofcast::parse_yaml({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
    try_read([&] {
      const roofcast::MachineSpec machine = roofcast::read_machine(document, generations);
      // What was read once must be readable again, and equal.
      const std::string text = roofcast::write_machine_yaml(machine);
      if (roofcast::read_machine(roofcast::parse_yaml(text, "copy.yaml"), generations) != machine)
        __builtin_trap();
    });
    try_read([&] { roofcast::read_calibration(document); });
    try_read([&] { roofcast::read_generations(document); });
  });
  return 0;
}
