#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

namespace roofcast::test {

/// Writes safetensors files after the format's description: 8-byte little-endian length, JSON,
/// data.
class SafetensorsBuilder {
 public:
  /// `bytes` is the tensor's size, given by the caller (it is what the tests check).
  SafetensorsBuilder& tensor(std::string_view name, std::string_view dtype,
                             std::initializer_list<std::int64_t> shape, std::uint64_t bytes) {
    std::string dims;
    for (const std::int64_t dim : shape) dims += (dims.empty() ? "" : ",") + std::to_string(dim);
    json_ += (json_.empty() ? "\"" : ",\"") + std::string(name) + "\":{\"dtype\":\"" +
             std::string(dtype) + "\",\"shape\":[" + dims + "],\"data_offsets\":[" +
             std::to_string(data_bytes_) + "," + std::to_string(data_bytes_ + bytes) + "]}";
    data_bytes_ += bytes;
    return *this;
  }

  static std::string with_length(const std::string& json) {
    std::string out;
    for (int i = 0; i < 8; ++i)
      out += static_cast<char>((std::uint64_t{json.size()} >> (8 * i)) & 0xff);
    return out + json;
  }
  std::string header() const { return with_length("{" + json_ + "}"); }
  std::uint64_t size_with_data() const { return header().size() + data_bytes_; }

  /// Writes the header and sparse zeros for the data.
  void write(const std::filesystem::path& path) const {
    std::ofstream(path, std::ios::binary) << header();
    std::filesystem::resize_file(path, size_with_data());
  }

 private:
  std::string json_;
  std::uint64_t data_bytes_ = 0;
};

}  // namespace roofcast::test
