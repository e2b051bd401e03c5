#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roofcast {

/// The reference implementation refuses larger headers, too.
inline constexpr std::uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

/// One tensor of a header. Packed formats stay as stored: GPTQ and AWQ weights are I32, fp4 ones
/// often U8.
struct SafetensorsTensor {
  std::string name;
  std::string dtype;  // as the file spells it: "BF16", "F8_E4M3"
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // from the start of the tensor data
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
};

struct SafetensorsHeader {
  std::string file;
  std::uint64_t file_bytes = 0;
  std::uint64_t data_start = 0;
  std::vector<std::pair<std::string, std::string>> metadata;  // "__metadata__"
  std::vector<SafetensorsTensor> tensors;                     // in ascending order of place
};

/// Reads the header of one safetensors file; never the tensor data. Refuses unknown dtypes,
/// duplicate names, sizes that do not follow from dtype and shape, data that overlap, leave holes
/// or differ from the file's size. Throws SpecError "file: byte N: tensor.key: ...".
/// Source: huggingface/safetensors README, "Format", and safetensors/src/tensor.rs.
SafetensorsHeader read_safetensors_header(std::istream& in, std::uint64_t file_bytes,
                                          std::string file);

/// The same for a file on disk; IoError when it cannot be read.
SafetensorsHeader read_safetensors_header(const std::string& path);

/// Bits of one element of `dtype`; 0 for an unknown one.
int safetensors_dtype_bits(std::string_view dtype);

}  // namespace roofcast
