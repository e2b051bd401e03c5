#include "hardware/src/machine.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv is POSIX

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "hardware/src/calibration.hpp"
#include "model/base/error.hpp"

namespace roofcast {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// A folder for $ROOFCAST_DATA that lasts for one test.
class DataFolder {
 public:
  DataFolder() : path_(fs::path(ROOFCAST_BINARY_DIR) / "machine_test_data") {
    fs::remove_all(path_);
    setenv("ROOFCAST_DATA", path_.c_str(), 1);
  }
  ~DataFolder() {
    unsetenv("ROOFCAST_DATA");
    fs::remove_all(path_);
  }
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

  fs::path operator/(const char* name) const { return path_ / "hardware" / name; }

 private:
  fs::path path_;
};

std::string shipped(const char* name) {
  return read_text_file(std::string(ROOFCAST_SOURCE_DIR) + "/hardware/" + name);
}

Calibration calibration_of(const char* device, const char* kind = "cuda") {
  Calibration calibration;
  calibration.device_kind = kind;
  calibration.provenance.device = device;
  calibration.provenance.date = "2026-11-30";
  CalibratedPrimitive read;
  read.name = "read";
  read.bandwidth = BytesPerSecond{200e9};
  calibration.primitives = {read};
  return calibration;
}

TEST_CASE("an unknown machine is refused with the nearest name, never replaced") {
  CHECK_THROWS_WITH_AS(load_hardware("h100-smx"),
                       "unknown machine \"h100-smx\": expected a catalogue name or the path of a "
                       "file, did you mean \"h100-sxm\"?",
                       SpecError);
  CHECK_THROWS_AS(load_hardware("generations"), SpecError);
  CHECK_THROWS_AS(load_hardware("nominal/../../etc/passwd"), SpecError);
  CHECK_THROWS_AS(load_hardware(""), SpecError);
}

TEST_CASE("a missing file is an input error") {
  CHECK_THROWS_AS(load_hardware("no/such/machine.yaml"), IoError);
}

TEST_CASE("a path works like a name") {
  const std::string path = std::string(ROOFCAST_SOURCE_DIR) + "/hardware/l40s.yaml";
  CHECK(load_hardware(path).spec == load_hardware("nominal/l40s").spec);
}

TEST_CASE("files in the data folder win over shipped ones and add to the list") {
  const DataFolder data;
  std::string mine = shipped("t4.yaml");
  mine.replace(mine.find("320 GB/s"), 8, "300 GB/s");
  write_file(data / "t4.yaml", mine);
  mine.replace(mine.find("name: t4"), 8, "name: t5");
  write_file(data / "t5.yaml", mine);
  CHECK(load_machine("t4").memory.front().bandwidth.value.value == 300e9);
  CHECK(load_machine("t5").memory.front().bandwidth.value.value == 300e9);
  const auto names = list_machines();
  CHECK(std::count(names.begin(), names.end(), "t5") == 1);
  CHECK(std::count(names.begin(), names.end(), "t4") == 1);
}

TEST_CASE("a plain name prefers the calibrated file, and nominal/ asks for the other") {
  const DataFolder data;
  write_file(data / "calibrated/t4.yaml", write_calibration_yaml(calibration_of("T4"), "t4"));
  CHECK(load_hardware("t4").calibration.has_value());
  CHECK(load_hardware("calibrated/t4").calibration.has_value());
  CHECK_FALSE(load_hardware("nominal/t4").calibration.has_value());
  CHECK(load_hardware("t4").spec == load_hardware("nominal/t4").spec);
  CHECK(list_calibrated_machines().size() >= 1);
}

TEST_CASE("a calibrated file may carry a machine that is in no catalogue") {
  const DataFolder data;
  MachineSpec machine = load_machine("nominal/ryzen-7950x");
  machine.name = "this-machine";
  machine.generation = "cpu";
  const fs::path path = data / "mine.yaml";
  write_file(path, write_calibration_yaml(calibration_of("Ryzen", "cpu"), machine));
  const Machine loaded = load_hardware(path.string());
  CHECK(loaded.spec == machine);
  CHECK(loaded.generation.name == "cpu");
  CHECK(loaded.calibration.has_value());
}

TEST_CASE("values can be overridden between finding and reading") {
  HardwareFiles files = find_hardware("nominal/h200");
  set_value(files.machine, "memory.0.bandwidth.value", "4 TB/s");
  CHECK(read_hardware(files).spec.memory.front().bandwidth.value.value == 4e12);
}

}  // namespace
}  // namespace roofcast
