#include "model/reference/cpu/huge_buffer.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

HugeBuffer::HugeBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  if (bytes > SIZE_MAX - 2 * kHugePage) throw IoError("cannot map a buffer of that size");
  mapped_bytes_ = (bytes + 2 * kHugePage - 1) / kHugePage * kHugePage;
  void* const mapping =
      mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    throw IoError("cannot map " + std::to_string(bytes) + " bytes: " + std::strerror(errno));
  mapping_ = mapping;
  void* aligned = mapping;
  std::size_t space = mapped_bytes_;
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(mapping) % kHugePage;
  if (offset != 0) {
    aligned = static_cast<std::byte*>(mapping) + (kHugePage - offset);
    space -= kHugePage - offset;
  }
#ifdef MADV_HUGEPAGE
  madvise(aligned, space, MADV_HUGEPAGE);  // a hint: small pages work too
#endif
  data_ = static_cast<std::byte*>(aligned);
}

HugeBuffer::~HugeBuffer() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

}  // namespace roofcast
