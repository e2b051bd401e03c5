#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace roofcast {

enum class PathKind { missing, file, folder, other };

/// What `path` names, symbolic links followed. Throws IoError when the system does not tell: a
/// folder above may not be searched, links run in a circle, the name is too long. Code asks here
/// and not std::filesystem, whose plain forms throw errors of their own and whose quiet forms make
/// a file that may not be read look like one that is missing.
PathKind path_kind(const std::filesystem::path& path);

inline bool path_exists(const std::filesystem::path& path) {
  return path_kind(path) != PathKind::missing;
}

/// The entries of a folder, sorted. Throws IoError when it cannot be listed.
std::vector<std::filesystem::path> folder_entries(const std::filesystem::path& folder);

/// A regular file opened for binary reading.
struct BinaryFile {
  std::ifstream stream;
  std::uint64_t bytes = 0;
};

/// Throws IoError when `path` is missing, unreadable or no regular file: a pipe would never end.
BinaryFile open_binary_file(const std::string& path);

}  // namespace roofcast
