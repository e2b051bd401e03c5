// Feeds bytes to the GGUF reader as a whole file, and again as the head of a much larger one, so
// that what follows the header's size checks is reached as well.

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "model/architecture/gguf_header.hpp"
#include "model/architecture/tensor_census.hpp"
#include "model/base/error.hpp"

namespace {

void read(const std::string& bytes, std::uint64_t file_bytes) {
  try {
    std::istringstream in(bytes);
    const roofcast::GgufHeader header = roofcast::read_gguf_header(in, file_bytes, "fuzz.gguf");
    for (const roofcast::GgufTensor& tensor : header.tensors)
      roofcast::place_gguf_tensor(tensor.name, 32);
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
