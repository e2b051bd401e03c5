// Feeds bytes to the safetensors reader: as a file, and as the JSON of a file whose length fits.

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "model/architecture/safetensors_header.hpp"
#include "model/architecture/tensor_census.hpp"
#include "model/base/error.hpp"

namespace {

void read(const std::string& bytes, std::uint64_t file_bytes) {
  try {
    std::istringstream in(bytes);
    const roofcast::SafetensorsHeader header =
        roofcast::read_safetensors_header(in, file_bytes, "fuzz.safetensors");
    for (const roofcast::SafetensorsTensor& tensor : header.tensors)
      roofcast::place_hf_tensor(tensor.name, 32);
  } catch (const roofcast::SpecError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes, size);
  std::string with_length;
  for (int i = 0; i < 8; ++i)
    with_length += static_cast<char>((std::uint64_t{size} >> (8 * i)) & 0xff);
  read(with_length + bytes, 8 + size + 64);
  return 0;
}
