#pragma once

#include <cstddef>
#include <utility>

namespace roofcast {

/// Zeroed memory straight from the system, aligned to and made of 2 MiB pages where the system has
/// them to give. Its pages come to be on the node of the thread that first writes them. Move only.
class HugeBuffer {
 public:
  HugeBuffer() = default;
  /// Throws IoError when the system refuses.
  explicit HugeBuffer(std::size_t bytes);
  HugeBuffer(HugeBuffer&& other) noexcept { swap(other); }
  HugeBuffer& operator=(HugeBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  HugeBuffer(const HugeBuffer&) = delete;
  HugeBuffer& operator=(const HugeBuffer&) = delete;
  ~HugeBuffer();

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  void swap(HugeBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace roofcast
