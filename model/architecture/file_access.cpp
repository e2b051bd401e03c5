#include "model/architecture/file_access.hpp"

#include <algorithm>
#include <filesystem>

#include "model/base/error.hpp"

namespace roofcast {

BinaryFile open_binary_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw IoError(place_message(path, {}, "",
                                path_exists(path) ? "expected a regular file" : "no such file"));
  BinaryFile file;
  file.bytes = std::filesystem::file_size(path, error);
  file.stream.open(path, std::ios::binary);
  if (error || !file.stream)
    throw IoError(place_message(path, {}, "", "cannot be opened for reading"));
  return file;
}

bool path_exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

std::vector<std::string> folder_entries(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> entries;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    entries.push_back(entry->path().string());
  if (error) throw IoError(place_message(folder, {}, "", "cannot be read"));
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace roofcast
