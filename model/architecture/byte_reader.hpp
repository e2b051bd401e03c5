#pragma once

#include <bit>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace roofcast {

/// Forward reader of a little-endian binary header. Nothing is allocated before the bytes are known
/// to exist: every read and skip is first checked against the file's size and the header limit.
/// Malformed input throws SpecError "file: byte N: key: expected ..., got ...".
class ByteReader {
 public:
  /// `in` must be seekable and outlive the reader. `limit`: the largest header that is read.
  ByteReader(std::istream& in, std::string file, std::uint64_t file_bytes, std::uint64_t limit);

  const std::string& file() const { return file_; }
  std::uint64_t file_bytes() const { return file_bytes_; }
  std::uint64_t offset() const { return buffer_start_ + cursor_; }
  /// Bytes that may still be read.
  std::uint64_t remaining() const { return end_ - offset(); }

  /// The next number; T is an arithmetic type of at most 8 bytes.
  template <typename T>
  T number(std::string_view key) {
    const std::uint64_t bits = little_endian(sizeof(T), key);
    if constexpr (std::is_same_v<T, float>)
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    else if constexpr (std::is_same_v<T, double>)
      return std::bit_cast<double>(bits);
    else
      return static_cast<T>(bits);
  }

  /// The next `bytes` bytes as text.
  std::string text(std::uint64_t bytes, std::string_view key);
  void skip(std::uint64_t bytes, std::string_view key);
  /// Throws unless `bytes` more may be read.
  void require(std::uint64_t bytes, std::string_view key) const;

  [[noreturn]] void fail(std::uint64_t at, std::string_view key, std::string_view what) const;

 private:
  std::uint64_t little_endian(std::size_t bytes, std::string_view key);
  void refill();

  std::istream& in_;
  std::string file_;
  std::uint64_t file_bytes_;
  std::uint64_t end_;               // first byte that may not be read
  std::uint64_t buffer_start_ = 0;  // file offset of buffer_[0]
  std::size_t cursor_ = 0;
  std::vector<char> buffer_;
};

}  // namespace roofcast
