// Each file of tests/specs/bad/hardware says in its first line, a comment, what its error must say.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "hardware/src/machine.hpp"
#include "model/base/error.hpp"

namespace roofcast {
namespace {

std::vector<std::filesystem::path> bad_files() {
  std::vector<std::filesystem::path> files;
  const auto folder = std::filesystem::path(ROOFCAST_SOURCE_DIR) / "tests/specs/bad/hardware";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST_CASE("every bad machine file is refused with the message that it states") {
  CHECK(bad_files().size() >= 14);
  for (const auto& path : bad_files()) {
    CAPTURE(path.filename().string());
    const std::string text = read_text_file(path.string());
    REQUIRE(text.starts_with("# "));
    const std::string expected = path.string() + ":" + text.substr(2, text.find('\n') - 2);
    std::string message = "no error";
    try {
      load_hardware(path.string());
    } catch (const SpecError& error) {
      message = error.what();
    }
    CHECK(message == expected);
  }
}

}  // namespace
}  // namespace roofcast
