#include "hardware/src/embedded_hardware.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

using namespace roofcast;

namespace {

namespace fs = std::filesystem;

/// The YAML files below hardware/ in the source tree: path inside hardware/ -> content.
std::map<std::string, std::string> files_on_disk() {
  const fs::path root = fs::path(ROOFCAST_SOURCE_DIR) / "hardware";
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[fs::relative(entry.path(), root).string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

}  // namespace

TEST_CASE("every machine file on disk is embedded byte for byte, and nothing else is") {
  std::map<std::string, std::string> embedded;
  for (const EmbeddedFile& file : embedded_hardware()) embedded.emplace(file.name, file.text);
  CHECK(embedded.size() == embedded_hardware().size());
  CHECK(embedded == files_on_disk());
}

TEST_CASE("embedded files are sorted by name, so that lists come out the same on every machine") {
  CHECK(std::ranges::is_sorted(embedded_hardware(), {}, &EmbeddedFile::name));
}
