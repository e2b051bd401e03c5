#include "hardware/src/machine_writer.hpp"

#include <doctest/doctest.h>

#include "hardware/src/machine.hpp"
#include "hardware/src/machine_reader.hpp"

namespace roofcast {
namespace {

TEST_CASE("every shipped machine survives writing and reading") {
  for (const std::string& name : list_machines()) {
    CAPTURE(name);
    const MachineSpec machine = load_machine("nominal/" + name);
    CHECK(read_machine(parse_yaml(write_machine_yaml(machine), "copy.yaml")) == machine);
  }
}

TEST_CASE("texts with quotes, backslashes and line breaks survive writing and reading") {
  MachineSpec machine = load_machine("nominal/t4");
  machine.title = "a \"quoted\" \\ title: with # and\nbreak";
  machine.notes = "{not a map}";
  CHECK(read_machine(parse_yaml(write_machine_yaml(machine), "copy.yaml")) == machine);
}

}  // namespace
}  // namespace roofcast
