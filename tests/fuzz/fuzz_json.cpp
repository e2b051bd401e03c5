// Feeds text to the JSON reader. Places in the tree have to lie inside the text.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/base/document.hpp"
#include "model/base/error.hpp"

namespace {

void check_places(const roofcast::Value& value, int max_line) {
  if (value.at.line < 1 || value.at.line > max_line || value.at.column < 1) std::abort();
  for (const roofcast::Value& item : value.items) check_places(item, max_line);
  for (const auto& member : value.members) check_places(member.second, max_line);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  int lines = 1;
  for (const char c : text) lines += c == '\n' ? 1 : 0;
  try {
    check_places(roofcast::parse_json(text, "fuzz.json").root, lines);
  } catch (const roofcast::SpecError&) {
  }
  return 0;
}
