#include "model/architecture/gguf_header.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>
#include <unordered_set>

#include "model/architecture/byte_reader.hpp"
#include "model/base/error.hpp"
#include "model/base/files.hpp"

namespace roofcast {
namespace {

/// Value types in the order of their ids in the file.
enum class ValueType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};

struct ValueTypeRow {
  std::string_view name;
  std::uint64_t bytes;  // 0: variable
};

constexpr std::array kValueTypes = {
    ValueTypeRow{"u8", 1},    ValueTypeRow{"i8", 1},   ValueTypeRow{"u16", 2},
    ValueTypeRow{"i16", 2},   ValueTypeRow{"u32", 4},  ValueTypeRow{"i32", 4},
    ValueTypeRow{"f32", 4},   ValueTypeRow{"bool", 1}, ValueTypeRow{"string", 0},
    ValueTypeRow{"array", 0}, ValueTypeRow{"u64", 8},  ValueTypeRow{"i64", 8},
    ValueTypeRow{"f64", 8}};

constexpr std::uint64_t kMaxKeyBytes = 65535;       // gguf.md: 2^16 - 1
constexpr std::uint64_t kMaxTensorNameBytes = 256;  // ggml itself keeps 63
constexpr std::uint64_t kMinEntryBytes = 8 + 4 + 1;
constexpr std::uint64_t kMinTensorBytes = 8 + 4 + 4 + 8;
constexpr std::uint32_t kMaxDims = 4;

/// Types that ggml once had and dropped: files that hold them no longer load in any current engine.
struct RemovedType {
  std::uint32_t id;
  std::string_view name;
};
constexpr std::array kRemovedTypes = {RemovedType{4, "Q4_2"},        RemovedType{5, "Q4_3"},
                                      RemovedType{31, "Q4_0_4_4"},   RemovedType{32, "Q4_0_4_8"},
                                      RemovedType{33, "Q4_0_8_8"},   RemovedType{36, "IQ4_NL_4_4"},
                                      RemovedType{37, "IQ4_NL_4_8"}, RemovedType{38, "IQ4_NL_8_8"}};

const ValueTypeRow& row(ValueType type) { return kValueTypes[static_cast<std::size_t>(type)]; }

ValueType read_type(ByteReader& in, std::string_view key) {
  const std::uint64_t at = in.offset();
  const auto id = in.number<std::uint32_t>(key);
  if (id >= kValueTypes.size())
    in.fail(at, key, fmt::format("expected a value type from 0 to 12, got {}", id));
  return static_cast<ValueType>(id);
}

std::string read_text(ByteReader& in, std::uint64_t max_bytes, std::string_view key) {
  const std::uint64_t at = in.offset();
  const auto bytes = in.number<std::uint64_t>(key);
  if (bytes > max_bytes)
    in.fail(at, key, fmt::format("expected a text of at most {} bytes, got {}", max_bytes, bytes));
  return in.text(bytes, key);
}

std::int64_t read_whole(ByteReader& in, ValueType type, std::string_view key) {
  switch (type) {
    case ValueType::u8:
      return in.number<std::uint8_t>(key);
    case ValueType::i8:
      return in.number<std::int8_t>(key);
    case ValueType::u16:
      return in.number<std::uint16_t>(key);
    case ValueType::i16:
      return in.number<std::int16_t>(key);
    case ValueType::u32:
      return in.number<std::uint32_t>(key);
    case ValueType::i32:
      return in.number<std::int32_t>(key);
    case ValueType::boolean:
      return in.number<std::uint8_t>(key) != 0 ? 1 : 0;
    default:
      return in.number<std::int64_t>(key);
  }
}

double read_real(ByteReader& in, ValueType type, std::string_view key) {
  return type == ValueType::f32 ? static_cast<double>(in.number<float>(key))
                                : in.number<double>(key);
}

bool is_real(ValueType type) { return type == ValueType::f32 || type == ValueType::f64; }

GgufValue read_string_value(ByteReader& in, std::string_view key) {
  GgufValue value{.type = "string", .count = 1, .at = in.offset(), .data = {}};
  value.count = in.number<std::uint64_t>(key);
  if (value.count <= kMaxGgufKeptText)
    value.data = in.text(value.count, key);
  else
    in.skip(value.count, key);
  return value;
}

void skip_texts(ByteReader& in, std::uint64_t count, std::string_view key) {
  for (std::uint64_t i = 0; i < count; ++i) in.skip(in.number<std::uint64_t>(key), key);
}

GgufValue read_array(ByteReader& in, std::string_view key) {
  GgufValue value{.type = {}, .count = 0, .at = in.offset(), .data = {}};
  const ValueType type = read_type(in, key);
  value.type = fmt::format("array of {}", row(type).name);
  value.count = in.number<std::uint64_t>(key);
  if (type == ValueType::array)
    in.fail(value.at, key, "expected no array inside an array, got one");
  if (type == ValueType::string) {
    skip_texts(in, value.count, key);
    return value;
  }
  if (value.count > std::numeric_limits<std::uint64_t>::max() / 8)
    in.fail(value.at, key, fmt::format("expected an array that fits, got {} items", value.count));
  in.require(value.count * row(type).bytes, key);
  if (value.count > kMaxGgufKeptItems) {
    in.skip(value.count * row(type).bytes, key);
  } else if (is_real(type)) {
    std::vector<double> items(value.count);
    for (double& item : items) item = read_real(in, type, key);
    value.data = std::move(items);
  } else {
    std::vector<std::int64_t> items(value.count);
    for (std::int64_t& item : items) item = read_whole(in, type, key);
    value.data = std::move(items);
  }
  return value;
}

GgufValue read_value(ByteReader& in, std::string_view key) {
  const ValueType type = read_type(in, key);
  if (type == ValueType::string) return read_string_value(in, key);
  if (type == ValueType::array) return read_array(in, key);
  GgufValue value{.type = std::string(row(type).name), .count = 1, .at = in.offset(), .data = {}};
  if (type == ValueType::boolean) {
    value.data = in.number<std::uint8_t>(key) != 0;
  } else if (is_real(type)) {
    value.data = read_real(in, type, key);
  } else {
    const std::int64_t whole = read_whole(in, type, key);
    if (type == ValueType::u64 && whole < 0)
      value.data = static_cast<double>(static_cast<std::uint64_t>(whole));
    else
      value.data = whole;
  }
  return value;
}

[[noreturn]] void refuse_magic(const ByteReader& in, std::string_view magic) {
  for (const std::string_view old : {"lmgg", "fmgg", "tjgg", "algg"})
    if (magic == old)
      throw UnsupportedError(place_message(
          in.file(), {}, "", "a GGML file from before GGUF (2023-08); convert it to GGUF first"));
  if (magic == "vers")  // "version https://git-lfs.github.com/spec/v1"
    in.fail(0, "magic", "expected \"GGUF\", got a Git LFS pointer: the file was not downloaded");
  in.fail(0, "magic", fmt::format("expected \"GGUF\", got {}", in_quotes(magic)));
}

std::uint32_t read_version(ByteReader& in) {
  const std::string magic = in.text(4, "magic");
  if (magic != "GGUF") refuse_magic(in, magic);
  const auto version = in.number<std::uint32_t>("version");
  if (version == 2 || version == 3) return version;
  if ((version & 0xffffU) == 0 && version != 0)
    throw UnsupportedError(place_message(
        in.file(), {}, "version", "a big-endian GGUF file; only little-endian ones are read"));
  if (version == 1)
    throw UnsupportedError(
        place_message(in.file(), {}, "version", "GGUF version 1; versions 2 and 3 are read"));
  in.fail(4, "version", fmt::format("expected 2 or 3, got {}", version));
}

/// A count of things that take at least `min_bytes` each in what is left of the file.
std::uint64_t read_count(ByteReader& in, std::uint64_t max, std::uint64_t min_bytes,
                         std::string_view key) {
  const std::uint64_t at = in.offset();
  const auto count = in.number<std::uint64_t>(key);
  if (count > max) in.fail(at, key, fmt::format("expected at most {}, got {}", max, count));
  if (count > in.remaining() / min_bytes)
    in.fail(at, key,
            fmt::format("expected at most {} in the {} bytes that are left, got {}",
                        in.remaining() / min_bytes, in.remaining(), count));
  return count;
}

void read_metadata(ByteReader& in, std::uint64_t count, GgufHeader& header) {
  std::unordered_set<std::string> seen;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = in.offset();
    std::string key = read_text(in, kMaxKeyBytes, fmt::format("metadata {} key", i));
    if (!seen.insert(key).second) in.fail(at, key, "expected each key once, got it twice");
    GgufValue value = read_value(in, key);
    header.metadata.emplace_back(std::move(key), std::move(value));
  }
}

void read_alignment(const ByteReader& in, GgufHeader& header) {
  const GgufValue* value = header.find("general.alignment");
  if (value == nullptr) return;
  const auto* number = std::get_if<std::int64_t>(&value->data);
  if (number == nullptr || *number < 1 || *number > (1 << 20) || (*number & (*number - 1)) != 0)
    in.fail(value->at, "general.alignment",
            "expected a power of two up to 2^20, got another value");
  header.alignment = static_cast<std::uint32_t>(*number);
}

FormatId read_format(ByteReader& in, std::string_view key) {
  const std::uint64_t at = in.offset();
  const auto id = in.number<std::uint32_t>(key);
  for (const RemovedType& removed : kRemovedTypes)
    if (id == removed.id)
      throw UnsupportedError(place_message(
          fmt::format("{}: byte {}", in.file(), at), {}, key,
          fmt::format("tensor type {} ({}), which ggml has removed", id, removed.name)));
  const std::optional<FormatId> format =
      id < 1024 ? find_ggml_format(static_cast<int>(id)) : std::nullopt;
  if (!format)
    throw UnsupportedError(place_message(fmt::format("{}: byte {}", in.file(), at), {}, key,
                                         fmt::format("expected a known tensor type, got {}", id)));
  return *format;
}

void read_dims(ByteReader& in, GgufTensor& tensor) {
  const std::uint64_t at = in.offset();
  const auto n_dims = in.number<std::uint32_t>(tensor.name);
  if (n_dims > kMaxDims)
    in.fail(at, tensor.name, fmt::format("expected at most 4 dimensions, got {}", n_dims));
  tensor.elements = 1;
  for (std::uint32_t i = 0; i < n_dims; ++i) {
    const std::uint64_t dim_at = in.offset();
    const auto dim = in.number<std::int64_t>(tensor.name);
    if (dim < 1)
      in.fail(dim_at, tensor.name, fmt::format("expected dimensions from 1 on, got {}", dim));
    if (tensor.elements > (std::int64_t{1} << 56) / dim)
      in.fail(dim_at, tensor.name, "expected at most 2^56 elements, got more");
    tensor.elements *= dim;
    tensor.dims.push_back(dim);
  }
}

/// The exact bytes of a tensor. ggml stores rows of whole blocks.
void count_bytes(const ByteReader& in, std::uint64_t at, GgufTensor& tensor) {
  const NumberFormat& format = tensor.format.row();
  const std::int64_t row_elements = tensor.dims.empty() ? 1 : tensor.dims.front();
  if (row_elements % format.block_elements != 0)
    in.fail(at, tensor.name,
            fmt::format("expected rows of whole {} blocks of {}, got rows of {}", format.name,
                        format.block_elements, row_elements));
  tensor.bytes = tensor.elements / format.block_elements * (format.block_bits / 8);
}

void read_tensors(ByteReader& in, std::uint64_t count, GgufHeader& header) {
  std::unordered_set<std::string> seen;
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    GgufTensor tensor;
    const std::uint64_t at = in.offset();
    tensor.name = read_text(in, kMaxTensorNameBytes, fmt::format("tensor {} name", i));
    if (!seen.insert(tensor.name).second)
      in.fail(at, tensor.name, "expected each tensor once, got it twice");
    read_dims(in, tensor);
    tensor.format = read_format(in, tensor.name);
    count_bytes(in, at, tensor);
    const std::uint64_t offset_at = in.offset();
    tensor.offset = in.number<std::uint64_t>(tensor.name);
    if (tensor.offset % header.alignment != 0 || tensor.offset < end)
      in.fail(offset_at, tensor.name,
              fmt::format("expected an offset from {} on and a multiple of {}, got {}", end,
                          header.alignment, tensor.offset));
    if (tensor.offset > in.file_bytes())
      in.fail(offset_at, tensor.name,
              fmt::format("expected an offset within the file's {} bytes, got {} (truncated?)",
                          in.file_bytes(), tensor.offset));
    end = tensor.offset + static_cast<std::uint64_t>(tensor.bytes);
    header.tensors.push_back(std::move(tensor));
  }
}

/// Tensors are in ascending order, so the first one past the end is the first one that is missing.
void check_data_present(const ByteReader& in, const GgufHeader& header) {
  for (const GgufTensor& tensor : header.tensors) {
    const std::uint64_t end =
        header.data_start + tensor.offset + static_cast<std::uint64_t>(tensor.bytes);
    if (end > header.file_bytes)
      in.fail(header.data_start + tensor.offset, tensor.name,
              fmt::format("expected data up to byte {}, got a file of {} bytes (truncated?)", end,
                          header.file_bytes));
  }
}

}  // namespace

const GgufValue* GgufHeader::find(std::string_view key) const {
  for (const auto& [name, value] : metadata)
    if (name == key) return &value;
  return nullptr;
}

GgufHeader read_gguf_header(std::istream& in, std::uint64_t file_bytes, std::string file) {
  ByteReader reader(in, std::move(file), file_bytes, kMaxGgufHeaderBytes);
  GgufHeader header;
  header.file = reader.file();
  header.file_bytes = file_bytes;
  header.version = read_version(reader);
  const std::uint64_t n_tensors =
      read_count(reader, kMaxGgufTensors, kMinTensorBytes, "tensor_count");
  const std::uint64_t n_entries =
      read_count(reader, kMaxGgufEntries, kMinEntryBytes, "metadata_kv_count");
  read_metadata(reader, n_entries, header);
  read_alignment(reader, header);
  read_tensors(reader, n_tensors, header);
  const std::uint64_t unaligned = reader.offset() % header.alignment;
  header.data_start = reader.offset() + (unaligned == 0 ? 0 : header.alignment - unaligned);
  check_data_present(reader, header);
  return header;
}

GgufHeader read_gguf_header(const std::string& path) {
  BinaryFile file = open_binary_file(path);
  return read_gguf_header(file.stream, file.bytes, path);
}

}  // namespace roofcast
