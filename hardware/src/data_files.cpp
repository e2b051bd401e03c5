#include "hardware/src/data_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "hardware/src/embedded_hardware.hpp"
#include "model/base/catalogue_files.hpp"
#include "model/base/files.hpp"

namespace roofcast {
namespace {

constexpr std::string_view kFolder = "hardware";
constexpr std::string_view kCalibratedFolder = "hardware/calibrated";
constexpr std::string_view kCalibrated = "calibrated/";
constexpr std::string_view kGenerations = "generations.yaml";

/// The shipped calibrated files, named as if their folder were a catalogue of its own.
std::vector<EmbeddedFile> embedded_calibrated() {
  std::vector<EmbeddedFile> files;
  for (const EmbeddedFile& file : embedded_hardware())
    if (file.name.starts_with(kCalibrated))
      files.push_back({file.name.substr(kCalibrated.size()), file.text});
  return files;
}

}  // namespace

std::vector<std::string> list_machines() { return catalogue_names(embedded_hardware(), kFolder); }

std::vector<std::string> list_calibrated_machines() {
  return catalogue_names(embedded_calibrated(), kCalibratedFolder);
}

Document machine_file(const std::string& name) {
  return find_catalogue_file(embedded_hardware(), kFolder, "machine", name);
}

Document calibrated_file(const std::string& name) {
  return find_catalogue_file(embedded_calibrated(), kCalibratedFolder, "calibrated machine", name);
}

Document generations_file() {
  const char* root = std::getenv("ROOFCAST_DATA");
  if (root != nullptr && *root != '\0') {
    const auto path = std::filesystem::path(root) / kFolder / kGenerations;
    if (path_exists(path)) return parse_yaml(read_text_file(path.string()), path.string());
  }
  for (const EmbeddedFile& file : embedded_hardware())
    if (file.name == kGenerations) return parse_yaml(file.text, "hardware/generations.yaml");
  throw std::logic_error("the program was built without hardware/generations.yaml");
}

}  // namespace roofcast
