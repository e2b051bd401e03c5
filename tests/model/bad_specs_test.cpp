#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "model/architecture/architecture_yaml.hpp"
#include "model/base/document.hpp"

namespace {

using namespace roofcast;

std::vector<std::filesystem::path> bad_specs() {
  const std::filesystem::path folder =
      std::filesystem::path(ROOFCAST_SOURCE_DIR) / "tests/specs/bad/architectures";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

// The first line of each file is a comment with the message that its error has to have.
TEST_CASE("every bad architecture is refused with the message in its first line") {
  CHECK(bad_specs().size() >= 60);
  for (const std::filesystem::path& path : bad_specs()) {
    const std::string text = read_text_file(path.string());
    REQUIRE(text.starts_with("# "));
    const std::string expected = text.substr(2, text.find('\n') - 2);
    const std::string name = path.filename().string();
    CAPTURE(name);
    std::string message = "no error";
    try {
      read_architecture(parse_yaml(text, name));
    } catch (const SpecError& error) {
      message = error.what();
    }
    CHECK(message == expected);
  }
}
