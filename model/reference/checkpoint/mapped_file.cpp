#include "model/reference/checkpoint/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw IoError(place_message(path, {}, "", std::string(what) + ": " + std::strerror(errno)));
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(path, "cannot be opened");
  struct stat status = {};
  const bool known = fstat(file, &status) == 0;
  size_ = known ? static_cast<std::size_t>(status.st_size) : 0;
  // An empty file cannot be mapped, and needs not.
  data_ = size_ > 0 ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
  close(file);
  if (!known || data_ == MAP_FAILED) fail(path, "cannot be mapped into memory");
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace roofcast
