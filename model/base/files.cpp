#include "model/base/files.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw IoError(place_message(path.string(), {}, "", what));
}

[[noreturn]] void fail(const fs::path& path, const std::error_code& error) {
  fail(path, "cannot be read: " + error.message());
}

}  // namespace

PathKind path_kind(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return PathKind::missing;
  if (error) fail(path, error);
  if (fs::is_directory(status)) return PathKind::folder;
  return fs::is_regular_file(status) ? PathKind::file : PathKind::other;
}

std::vector<fs::path> folder_entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error))
    entries.push_back(entry->path());
  if (error) fail(folder, error);
  std::sort(entries.begin(), entries.end());
  return entries;
}

BinaryFile open_binary_file(const std::string& path) {
  const PathKind kind = path_kind(path);
  if (kind == PathKind::missing) fail(path, "no such file");
  if (kind == PathKind::folder) fail(path, "expected a regular file, got a folder");
  if (kind == PathKind::other) fail(path, "expected a regular file, got a pipe or device");
  std::error_code error;
  BinaryFile file;
  file.bytes = fs::file_size(path, error);
  if (error) fail(path, error);
  errno = 0;
  file.stream.open(path, std::ios::binary);
  if (!file.stream) fail(path, std::error_code(errno, std::generic_category()));
  return file;
}

}  // namespace roofcast
