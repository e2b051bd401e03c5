#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roofcast {

/// A file that appears complete under its name or not at all, whatever stops the program: bytes go
/// to a nameless file of the same folder (where the file system has none, to a hidden one that
/// SIGINT, SIGTERM and SIGHUP remove), and `commit` renames it over `path`. What is no regular file
/// (/dev/null, a pipe) is written directly. All failures are IoError that name the path.
class OutputFile {
 public:
  /// Opens at once, so that a bad path is found before the work that fills the file.
  explicit OutputFile(std::string path);
  /// Without `commit` nothing is left behind.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  [[noreturn]] void fail(std::string_view doing) const;
  void open_hidden(const std::string& folder);

  std::string path_;    // as given, for messages
  std::string target_;  // absolute, symbolic links followed
  std::string hidden_;  // name of the temporary file; empty for a nameless one
  int descriptor_ = -1;
  bool direct_ = false;
};

}  // namespace roofcast
