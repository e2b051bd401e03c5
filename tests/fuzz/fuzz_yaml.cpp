// Feeds text to the YAML reader, as a document and its first line and the rest as an override.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/base/document.hpp"
#include "model/base/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    roofcast::Document document = roofcast::parse_yaml(text, "fuzz.yaml");
    const std::size_t line_end = std::min(text.find('\n'), size);
    roofcast::set_value(document, text.substr(0, line_end), text.substr(line_end));
  } catch (const roofcast::SpecError&) {
  }
  return 0;
}
