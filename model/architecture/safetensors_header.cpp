#include "model/architecture/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "model/architecture/byte_reader.hpp"
#include "model/base/document.hpp"
#include "model/base/error.hpp"
#include "model/base/files.hpp"
#include "model/base/spec_reader.hpp"

namespace roofcast {
namespace {

struct Dtype {
  std::string_view name;
  int bits;
};

/// safetensors/src/tensor.rs, `enum Dtype`.
constexpr std::array kDtypes = {
    Dtype{"BOOL", 8},    Dtype{"F4", 4},          Dtype{"F6_E2M3", 6},     Dtype{"F6_E3M2", 6},
    Dtype{"U8", 8},      Dtype{"I8", 8},          Dtype{"F8_E5M2", 8},     Dtype{"F8_E4M3", 8},
    Dtype{"F8_E8M0", 8}, Dtype{"F8_E4M3FNUZ", 8}, Dtype{"F8_E5M2FNUZ", 8}, Dtype{"I16", 16},
    Dtype{"U16", 16},    Dtype{"F16", 16},        Dtype{"BF16", 16},       Dtype{"I32", 32},
    Dtype{"U32", 32},    Dtype{"F32", 32},        Dtype{"C64", 64},        Dtype{"F64", 64},
    Dtype{"I64", 64},    Dtype{"U64", 64}};

constexpr std::size_t kMaxShape = 8;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 56;
constexpr std::int64_t kMaxOffset = std::int64_t{1} << 62;
constexpr std::uint64_t kLengthBytes = 8;

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const Dtype& dtype : kDtypes) names.emplace_back(dtype.name);
  return names;
}

/// The header is JSON, mostly on one line; a place in it is given as the byte of the file.
class HeaderJson {
 public:
  HeaderJson(std::string file, std::string text) : file_(std::move(file)), text_(std::move(text)) {
    for (std::size_t i = 0; i < text_.size(); ++i)
      if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }

  const std::string& text() const { return text_; }

  [[noreturn]] void fail(Position at, std::string_view key, std::string_view what) const {
    const std::size_t line = static_cast<std::size_t>(std::max(at.line, 1)) - 1;
    const std::size_t start = line < line_starts_.size() ? line_starts_[line] : 0;
    const std::size_t byte =
        kLengthBytes + start + static_cast<std::size_t>(std::max(at.column, 1)) - 1;
    throw SpecError(place_message(fmt::format("{}: byte {}", file_, byte), {}, key, what));
  }

 private:
  std::string file_;
  std::string text_;
  std::vector<std::size_t> line_starts_ = {0};
};

const Value& member(const HeaderJson& json, const Value& tensor, const std::string& name,
                    std::string_view key) {
  const Value* found = tensor.find(key);
  if (found == nullptr) json.fail(tensor.at, name, fmt::format("expected \"{}\", got none", key));
  return *found;
}

std::int64_t whole(const HeaderJson& json, const Value& value, const std::string& name,
                   std::int64_t max) {
  std::int64_t number = 0;
  const char* end = value.scalar.data() + value.scalar.size();
  const auto [stop, error] = std::from_chars(value.scalar.data(), end, number);
  if (!value.is_scalar() || value.quoted_text || error != std::errc{} || stop != end ||
      number < 0 || number > max)
    json.fail(value.at, name,
              fmt::format("expected a whole number from 0 to {}, got {}", max, describe(value)));
  return number;
}

void read_shape(const HeaderJson& json, const Value& shape, SafetensorsTensor& tensor) {
  if (!shape.is_sequence() || shape.items.size() > kMaxShape)
    json.fail(shape.at, tensor.name + ".shape",
              fmt::format("expected a list of at most {} whole numbers, got {}", kMaxShape,
                          describe(shape)));
  tensor.elements = 1;
  for (const Value& item : shape.items) {
    const std::int64_t dim = whole(json, item, tensor.name + ".shape", kMaxElements);
    if (dim != 0 && tensor.elements > kMaxElements / dim)
      json.fail(item.at, tensor.name + ".shape", "expected at most 2^56 elements, got more");
    tensor.elements *= dim;
    tensor.shape.push_back(dim);
  }
}

int read_dtype(const HeaderJson& json, const Value& dtype, SafetensorsTensor& tensor) {
  const int bits = dtype.is_scalar() ? safetensors_dtype_bits(dtype.scalar) : 0;
  if (bits == 0)
    json.fail(dtype.at, tensor.name + ".dtype",
              fmt::format("expected a dtype, got {}{}", describe(dtype),
                          did_you_mean(dtype.scalar, dtype_names())));
  tensor.dtype = dtype.scalar;
  return bits;
}

void read_offsets(const HeaderJson& json, const Value& offsets, int bits,
                  SafetensorsTensor& tensor) {
  const std::string key = tensor.name + ".data_offsets";
  if (!offsets.is_sequence() || offsets.items.size() != 2)
    json.fail(offsets.at, key,
              fmt::format("expected two whole numbers, got {}", describe(offsets)));
  const std::int64_t begin = whole(json, offsets.items[0], key, kMaxOffset);
  const std::int64_t end = whole(json, offsets.items[1], key, kMaxOffset);
  if (tensor.elements % 8 != 0 && tensor.elements * bits % 8 != 0)
    json.fail(
        offsets.at, key,
        fmt::format("expected whole bytes, got {} elements of {} bits", tensor.elements, bits));
  tensor.begin = static_cast<std::uint64_t>(begin);
  tensor.bytes = end - begin;
  const std::int64_t expected =
      tensor.elements % 8 == 0 ? tensor.elements / 8 * bits : tensor.elements * bits / 8;
  if (tensor.bytes != expected)
    json.fail(offsets.at, key,
              fmt::format("expected {} bytes for {} elements of {}, got {}", expected,
                          tensor.elements, tensor.dtype, tensor.bytes));
}

SafetensorsTensor read_tensor(const HeaderJson& json, const std::string& name, const Value& value) {
  if (!value.is_map())
    json.fail(value.at, name, fmt::format("expected a map, got {}", describe(value)));
  SafetensorsTensor tensor;
  tensor.name = name;
  const int bits = read_dtype(json, member(json, value, name, "dtype"), tensor);
  read_shape(json, member(json, value, name, "shape"), tensor);
  read_offsets(json, member(json, value, name, "data_offsets"), bits, tensor);
  return tensor;
}

void read_metadata(const HeaderJson& json, const Value& value, SafetensorsHeader& header) {
  if (!value.is_map())
    json.fail(value.at, "__metadata__", fmt::format("expected a map, got {}", describe(value)));
  for (const auto& [key, item] : value.members)
    header.metadata.emplace_back(key, item.is_scalar() ? item.scalar : std::string{});
}

/// Data have to be one piece without overlaps and holes, up to the end of the file.
void check_data(const SafetensorsHeader& header) {
  const auto fail = [&](std::uint64_t at, const std::string& name, const std::string& what) {
    throw SpecError(place_message(fmt::format("{}: byte {}", header.file, header.data_start + at),
                                  {}, name, what));
  };
  const std::uint64_t present = header.file_bytes - header.data_start;
  std::uint64_t end = 0;
  for (const SafetensorsTensor& tensor : header.tensors) {
    if (tensor.begin != end)
      fail(tensor.begin, tensor.name,
           fmt::format("expected data from offset {} on, got {} ({})", end, tensor.begin,
                       tensor.begin < end ? "tensors overlap" : "a hole"));
    end += static_cast<std::uint64_t>(tensor.bytes);
    if (end > present)
      fail(tensor.begin, tensor.name,
           fmt::format("expected data up to byte {}, got a file of {} bytes (truncated?)",
                       header.data_start + end, header.file_bytes));
  }
  if (end != present)
    fail(end, "", fmt::format("expected the end of the file, got {} more bytes", present - end));
}

}  // namespace

int safetensors_dtype_bits(std::string_view name) {
  for (const Dtype& dtype : kDtypes)
    if (dtype.name == name) return dtype.bits;
  return 0;
}

SafetensorsHeader read_safetensors_header(std::istream& in, std::uint64_t file_bytes,
                                          std::string file) {
  ByteReader reader(in, std::move(file), file_bytes, kLengthBytes + kMaxSafetensorsHeaderBytes);
  const auto length = reader.number<std::uint64_t>("header length");
  if (length > kMaxSafetensorsHeaderBytes)
    reader.fail(0, "header length",
                fmt::format("expected at most {} bytes, got {} (not a safetensors file?)",
                            kMaxSafetensorsHeaderBytes, length));
  SafetensorsHeader header;
  header.file = reader.file();
  header.file_bytes = file_bytes;
  const HeaderJson json(reader.file(), reader.text(length, "header"));
  header.data_start = reader.offset();
  const Document document = parse_json(json.text(), reader.file());
  if (!document.root.is_map())
    json.fail(document.root.at, "", fmt::format("expected a map, got {}", describe(document.root)));
  for (const auto& [name, value] : document.root.members) {
    if (name == "__metadata__")
      read_metadata(json, value, header);
    else
      header.tensors.push_back(read_tensor(json, name, value));
  }
  std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.bytes < b.bytes;
  });
  check_data(header);
  return header;
}

SafetensorsHeader read_safetensors_header(const std::string& path) {
  BinaryFile file = open_binary_file(path);
  return read_safetensors_header(file.stream, file.bytes, path);
}

}  // namespace roofcast
