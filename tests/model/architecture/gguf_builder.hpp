#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace roofcast::test {

/// Writes GGUF bytes independently of the reader under test, after ggml's docs/gguf.md.
/// `header()` is everything in front of the data; `size_with_data()` the size that the file would
/// have.
class GgufBuilder {
 public:
  explicit GgufBuilder(std::uint32_t version = 3) : version_(version) {}

  template <typename T>
  static void put(std::string& out, T number) {
    static_assert(std::endian::native == std::endian::little && std::is_arithmetic_v<T>);
    char bytes[sizeof(T)];
    std::memcpy(bytes, &number, sizeof(T));
    out.append(bytes, sizeof(T));
  }
  static void put_text(std::string& out, std::string_view text) {
    put(out, std::uint64_t{text.size()});
    out += text;
  }

  /// Type ids of values, from gguf.md.
  template <typename T>
  static constexpr std::uint32_t type_id() {
    if constexpr (std::is_same_v<T, std::uint8_t>) return 0;
    if constexpr (std::is_same_v<T, std::int8_t>) return 1;
    if constexpr (std::is_same_v<T, std::uint16_t>) return 2;
    if constexpr (std::is_same_v<T, std::int16_t>) return 3;
    if constexpr (std::is_same_v<T, std::uint32_t>) return 4;
    if constexpr (std::is_same_v<T, std::int32_t>) return 5;
    if constexpr (std::is_same_v<T, float>) return 6;
    if constexpr (std::is_same_v<T, bool>) return 7;
    if constexpr (std::is_same_v<T, std::uint64_t>) return 10;
    if constexpr (std::is_same_v<T, std::int64_t>) return 11;
    if constexpr (std::is_same_v<T, double>) return 12;
  }

  template <typename T>
  requires std::is_arithmetic_v<T> GgufBuilder& set(std::string_view key, T number) {
    std::string& out = entry(key);
    put(out, type_id<T>());
    put(out, number);
    return *this;
  }
  /// A count, which converters write as u32.
  GgufBuilder& count(std::string_view key, std::uint32_t number) { return set(key, number); }
  GgufBuilder& set(std::string_view key, std::string_view text) {
    std::string& out = entry(key);
    put(out, std::uint32_t{8});
    put_text(out, text);
    return *this;
  }
  template <typename T>
  GgufBuilder& set_array(std::string_view key, const std::vector<T>& items) {
    std::string& out = entry(key);
    put(out, std::uint32_t{9});
    if constexpr (std::is_same_v<T, std::string>) {
      put(out, std::uint32_t{8});
      put(out, std::uint64_t{items.size()});
      for (const std::string& item : items) put_text(out, item);
    } else {
      put(out, type_id<T>());
      put(out, std::uint64_t{items.size()});
      for (const T item : items) put(out, item);
    }
    return *this;
  }
  /// Raw bytes after the key: for malformed files.
  GgufBuilder& set_raw(std::string_view key, std::string_view bytes) {
    entry(key) += bytes;
    return *this;
  }

  /// `bytes` is the tensor's size, given by the caller (it is what the tests check).
  GgufBuilder& tensor(std::string_view name, std::initializer_list<std::int64_t> dims,
                      std::uint32_t type, std::uint64_t bytes) {
    return tensor_at(name, dims, type, data_bytes_, bytes);
  }
  GgufBuilder& tensor_at(std::string_view name, std::initializer_list<std::int64_t> dims,
                         std::uint32_t type, std::uint64_t offset, std::uint64_t bytes) {
    ++n_tensors_;
    put_text(tensors_, name);
    put(tensors_, static_cast<std::uint32_t>(dims.size()));
    for (const std::int64_t dim : dims) put(tensors_, dim);
    put(tensors_, type);
    put(tensors_, offset);
    data_bytes_ = (offset + bytes + 31) / 32 * 32;
    return *this;
  }

  std::string header() const {
    std::string out = "GGUF";
    put(out, version_);
    put(out, n_tensors_);
    put(out, n_entries_);
    out += entries_ + tensors_;
    out.append((32 - out.size() % 32) % 32, '\0');
    return out;
  }
  std::uint64_t size_with_data() const { return header().size() + data_bytes_; }

  /// Writes the header and sparse zeros for the data.
  void write(const std::filesystem::path& path) const {
    std::ofstream(path, std::ios::binary) << header();
    std::filesystem::resize_file(path, size_with_data());
  }

 private:
  std::string& entry(std::string_view key) {
    ++n_entries_;
    put_text(entries_, key);
    return entries_;
  }

  std::uint32_t version_;
  std::uint64_t n_entries_ = 0;
  std::uint64_t n_tensors_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::string entries_;
  std::string tensors_;
};

}  // namespace roofcast::test
