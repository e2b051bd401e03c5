// Feeds bytes to the GGUF reader as a whole file, and again as the head of a much larger one, so
// that what follows the header's size checks is reached as well. What reads is imported and costed.

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "model/architecture/architecture_spec.hpp"
#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/gguf_import.hpp"
#include "model/base/error.hpp"

namespace {

/// What an import gives is a valid spec: its YAML reads back, equal.
void check_round_trip(const roofcast::ArchitectureSpec& spec) {
  const std::string yaml = roofcast::write_architecture_yaml(spec);
  try {
    if (!(roofcast::read_architecture(roofcast::parse_yaml(yaml, "written.yaml")) == spec))
      throw std::logic_error("another spec");
  } catch (const roofcast::SpecError& error) {
    throw std::logic_error(error.what());
  }
}

void read(const std::string& bytes, std::uint64_t file_bytes) {
  try {
    std::istringstream in(bytes);
    roofcast::GgufHeader header = roofcast::read_gguf_header(in, file_bytes, "fuzz.gguf");
    roofcast::GgufModel model;
    model.files = {header.file};
    model.metadata = std::move(header.metadata);
    model.tensors = std::move(header.tensors);
    const roofcast::ImportedModel imported = roofcast::import_gguf(model);
    roofcast::weight_bytes(imported.spec);
    roofcast::cache_bytes(imported.spec, 1e6);
    check_round_trip(imported.spec);
  } catch (const roofcast::SpecError&) {
  } catch (const roofcast::IoError&) {  // the larger file ends where the bytes do
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes, size);
  read(bytes, std::uint64_t{1} << 50);
  return 0;
}
