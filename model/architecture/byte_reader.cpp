#include "model/architecture/byte_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

constexpr std::uint64_t kBufferBytes = 65536;

}  // namespace

ByteReader::ByteReader(std::istream& in, std::string file, std::uint64_t file_bytes,
                       std::uint64_t limit)
    : in_(in), file_(std::move(file)), file_bytes_(file_bytes), end_(std::min(file_bytes, limit)) {}

void ByteReader::fail(std::uint64_t at, std::string_view key, std::string_view what) const {
  throw SpecError(place_message(fmt::format("{}: byte {}", file_, at), {}, key, what));
}

void ByteReader::require(std::uint64_t bytes, std::string_view key) const {
  if (bytes <= remaining()) return;
  if (end_ < file_bytes_)
    fail(offset(), key, fmt::format("expected a header of at most {} bytes, got more", end_));
  fail(offset(), key,
       fmt::format("expected {} more bytes, got the end of the file after {} (truncated?)", bytes,
                   remaining()));
}

/// Loads the buffer from the current offset on. Precondition: remaining() > 0.
void ByteReader::refill() {
  buffer_start_ = offset();
  cursor_ = 0;
  buffer_.resize(std::min(kBufferBytes, end_ - buffer_start_));
  in_.clear();
  in_.seekg(static_cast<std::streamoff>(buffer_start_));
  in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.resize(static_cast<std::size_t>(in_.gcount()));
  if (buffer_.empty())
    throw IoError(fmt::format("{}: cannot be read at byte {}", file_, buffer_start_));
}

std::uint64_t ByteReader::little_endian(std::size_t bytes, std::string_view key) {
  require(bytes, key);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (cursor_ == buffer_.size()) refill();
    bits |= std::uint64_t{static_cast<unsigned char>(buffer_[cursor_++])} << (8 * i);
  }
  return bits;
}

std::string ByteReader::text(std::uint64_t bytes, std::string_view key) {
  require(bytes, key);
  std::string out;
  while (out.size() < bytes) {
    if (cursor_ == buffer_.size()) refill();
    const std::size_t take = std::min<std::size_t>(bytes - out.size(), buffer_.size() - cursor_);
    out.append(buffer_.data() + cursor_, take);
    cursor_ += take;
  }
  return out;
}

void ByteReader::skip(std::uint64_t bytes, std::string_view key) {
  require(bytes, key);
  if (bytes <= buffer_.size() - cursor_) {
    cursor_ += bytes;
    return;
  }
  buffer_start_ = offset() + bytes;
  cursor_ = 0;
  buffer_.clear();
}

}  // namespace roofcast
