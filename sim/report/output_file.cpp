#include "sim/report/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

/// Name of the hidden file that a signal has to remove. One output is open at a time; a fixed
/// buffer, because a signal handler must not touch the heap.
std::array<char, 4096> g_hidden_name = {};
volatile std::sig_atomic_t g_hidden_exists = 0;
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

void remove_hidden_and_die(int signal) {
  if (g_hidden_exists != 0) unlink(g_hidden_name.data());
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void watch_hidden(const std::string& name) {
  if (name.size() >= g_hidden_name.size()) return;
  std::memcpy(g_hidden_name.data(), name.c_str(), name.size() + 1);
  g_hidden_exists = 1;
  // A signal that the caller ignores (nohup) stays ignored.
  for (const int signal : kSignals)
    if (std::signal(signal, remove_hidden_and_die) == SIG_IGN) std::signal(signal, SIG_IGN);
}

void unwatch_hidden() {
  if (g_hidden_exists == 0) return;
  g_hidden_exists = 0;
  for (const int signal : kSignals)
    if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);
}

mode_t new_file_mode(const std::string& target) {
  struct stat found = {};
  if (stat(target.c_str(), &found) == 0) return found.st_mode & 07777U;
  const mode_t mask = umask(0);
  umask(mask);
  return 0666U & ~mask;
}

}  // namespace

void OutputFile::fail(std::string_view doing) const {
  throw IoError(place_message(path_, {}, "", fmt::format("cannot {}: {}", doing, strerror(errno))));
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  // weakly_canonical leaves the bare name of a new file relative, without a folder.
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path_, error);
  if (error) {
    errno = error.value();
    fail("write");
  }
  const std::filesystem::path real = std::filesystem::weakly_canonical(absolute, error);
  target_ = error ? absolute.string() : real.string();
  struct stat found = {};
  const bool exists = stat(target_.c_str(), &found) == 0;
  if (exists && S_ISDIR(found.st_mode)) {
    errno = EISDIR;
    fail("write");
  }
  if (exists && !S_ISREG(found.st_mode)) {
    direct_ = true;
    descriptor_ = open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("write");
    return;
  }
  if (exists && access(target_.c_str(), W_OK) != 0) fail("write");
  const std::string folder = std::filesystem::path(target_).parent_path().string();
  descriptor_ = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor_ < 0) open_hidden(folder);
  fchmod(descriptor_, new_file_mode(target_));
}

void OutputFile::open_hidden(const std::string& folder) {
  std::string name = folder + "/.roofcast-XXXXXX";
  descriptor_ = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail("write");
  hidden_ = name;
  watch_hidden(hidden_);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (hidden_.empty()) return;
  unlink(hidden_.c_str());
  unwatch_hidden();
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("write");
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

void OutputFile::commit() {
  if (!direct_) {
    if (hidden_.empty()) {
      // A nameless file can only be linked to a free name, so it passes through a hidden one.
      const std::string name =
          fmt::format("{}/.roofcast-{}", std::filesystem::path(target_).parent_path().string(),
                      static_cast<long>(getpid()));
      const std::string source = fmt::format("/proc/self/fd/{}", descriptor_);
      unlink(name.c_str());
      if (linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
        fail("write");
      hidden_ = name;
      watch_hidden(hidden_);
    }
    if (std::rename(hidden_.c_str(), target_.c_str()) != 0) fail("write");
    hidden_.clear();
    unwatch_hidden();
  }
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (close(descriptor) != 0) fail("write");
}

}  // namespace roofcast
