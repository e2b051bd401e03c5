// Feeds text to the YAML reader, as a document and as the value of an override.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/base/document.hpp"
#include "model/base/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    roofcast::Document document = roofcast::parse_yaml(text, "fuzz.yaml");
    roofcast::set_value(document, "a.b", text);
  } catch (const roofcast::SpecError&) {
  }
  return 0;
}
