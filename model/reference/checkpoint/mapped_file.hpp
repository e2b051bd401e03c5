#pragma once

#include <cstddef>
#include <string>

namespace roofcast {

/// A file's bytes as memory, read only: pages come from the disk when first touched. Move only.
class MappedFile {
 public:
  /// Throws IoError when the file cannot be opened or mapped.
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  const std::byte* data() const { return static_cast<const std::byte*>(data_); }
  std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace roofcast
