#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace roofcast {

/// A regular file opened for binary reading.
struct BinaryFile {
  std::ifstream stream;
  std::uint64_t bytes = 0;
};

/// Throws IoError when `path` is missing, unreadable or no regular file.
BinaryFile open_binary_file(const std::string& path);

/// False where the file system has no answer, too (no permission, name too long).
bool path_exists(const std::string& path);
bool is_folder(const std::string& path);

/// Paths of a folder's entries, sorted. Throws IoError when it cannot be read.
std::vector<std::string> folder_entries(const std::string& folder);

}  // namespace roofcast
