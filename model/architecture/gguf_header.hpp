#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/base/number_format.hpp"

namespace roofcast {

/// Limits of a GGUF header. Real ones stay far below: the largest public headers (vocabularies of
/// 262,144 tokens with merges) take about 16 MiB, the largest models have about 2,000 tensors.
inline constexpr std::uint64_t kMaxGgufHeaderBytes = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kMaxGgufEntries = 1 << 12;
inline constexpr std::uint64_t kMaxGgufTensors = 1 << 18;
inline constexpr std::uint64_t kMaxGgufKeptText = 4096;   // bytes; longer texts are skipped
inline constexpr std::uint64_t kMaxGgufKeptItems = 4096;  // longer arrays are skipped

/// One metadata value. Whole numbers of every width read as int64 (as double from 2^63 on), bool
/// arrays as whole numbers 0 and 1. Skipped values (text arrays, long arrays, long texts) hold
/// monostate.
struct GgufValue {
  using Data = std::variant<std::monostate, bool, std::int64_t, double, std::string,
                            std::vector<std::int64_t>, std::vector<double>>;
  std::string type;         // as GGUF spells it: "u32", "string", "array of f32"
  std::uint64_t count = 1;  // items of an array, bytes of a text, else 1
  std::uint64_t at = 0;     // byte of the value in the file
  Data data;
};

/// One tensor of the list. `dims` as stored, the contiguous dimension first.
struct GgufTensor {
  std::string name;
  std::vector<std::int64_t> dims;  // 0 to 4
  FormatId format;
  std::uint64_t offset = 0;  // from the start of the tensor data
  std::int64_t elements = 0;
  std::int64_t bytes = 0;  // exact, from the format's block size
};

/// Everything in front of the tensor data.
struct GgufHeader {
  std::string file;
  std::uint32_t version = 0;
  std::uint32_t alignment = 32;
  std::uint64_t file_bytes = 0;
  std::uint64_t data_start = 0;  // byte of the file where the tensor data begin
  std::vector<std::pair<std::string, GgufValue>> metadata;
  std::vector<GgufTensor> tensors;

  /// nullptr when absent.
  const GgufValue* find(std::string_view key) const;
};

/// Reads a header of GGUF version 2 or 3, little-endian; never the tensor data. Refuses by name
/// version 1, big-endian files, the formats before GGUF, unknown tensor types, duplicate names and
/// tensors that overlap, are misaligned, or run past the end of the file.
/// Throws SpecError ("file: byte N: ...") and UnsupportedError.
/// Source: ggml-org/ggml docs/gguf.md and src/gguf.cpp.
GgufHeader read_gguf_header(std::istream& in, std::uint64_t file_bytes, std::string file);

/// The same for a file on disk; IoError when it cannot be read.
GgufHeader read_gguf_header(const std::string& path);

}  // namespace roofcast
