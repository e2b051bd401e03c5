#include "sim/report/output_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "model/base/error.hpp"

using namespace roofcast;
namespace fs = std::filesystem;

namespace {

/// A folder that is gone at the end of the test.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("roofcast_output_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), {}));
  }
};

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void write_file(const std::string& path, const char* text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("a file appears complete on commit and replaces the old one") {
  const Folder folder;
  const std::string path = folder.file("out.csv");
  write_file(path, "old");
  OutputFile file(path);
  file.write("new ");
  file.write("text");
  CHECK(read(path) == "old");
  file.commit();
  CHECK(read(path) == "new text");
  CHECK(folder.entries() == 1);
}

TEST_CASE("without commit the old file stays and nothing else is left") {
  const Folder folder;
  const std::string path = folder.file("out.csv");
  write_file(path, "old");
  {
    OutputFile file(path);
    file.write("half of");
  }
  CHECK(read(path) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a process that is killed while writing leaves nothing") {
  for (const int signal : {SIGKILL, SIGINT, SIGTERM}) {
    const Folder folder;
    const pid_t child = fork();
    if (child == 0) {
      std::signal(signal, SIG_DFL);  // doctest's own handler would report a crash
      OutputFile file(folder.file("out.csv"));
      file.write("half of");
      raise(signal);
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(folder.entries() == 0);
  }
}

TEST_CASE("a symbolic link keeps pointing to the file that is replaced, whose mode stays") {
  const Folder folder;
  write_file(folder.file("real.csv"), "old");
  chmod(folder.file("real.csv").c_str(), 0640);
  fs::create_symlink("real.csv", folder.file("link.csv"));
  OutputFile file(folder.file("link.csv"));
  file.write("new");
  file.commit();
  CHECK(fs::is_symlink(folder.file("link.csv")));
  CHECK(read(folder.file("real.csv")) == "new");
  CHECK((fs::status(folder.file("real.csv")).permissions() & fs::perms::all) ==
        static_cast<fs::perms>(0640));
}

TEST_CASE("a path that cannot be written is refused by name, before any work") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(OutputFile("/nonexistent/x"),
                       "/nonexistent/x: cannot write: No such file or directory", IoError);
  const std::string inside = folder.path.string();
  CHECK_THROWS_WITH_AS(OutputFile{inside}, (inside + ": cannot write: Is a directory").c_str(),
                       IoError);
}

TEST_CASE("a bare name is a file of the working directory") {
  const Folder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path);
  OutputFile file("x.json");
  file.write("text");
  // The place is fixed when the file is opened.
  fs::current_path(before);
  file.commit();
  CHECK(read(folder.file("x.json")) == "text");
  CHECK(folder.entries() == 1);
}

TEST_CASE("an empty name is refused") { CHECK_THROWS_AS(OutputFile(""), IoError); }

TEST_CASE("a device is written directly, and a full one is an error") {
  OutputFile null("/dev/null");
  null.write("text");
  null.commit();
  OutputFile full("/dev/full");
  CHECK_THROWS_WITH_AS(full.write("text"), "/dev/full: cannot write: No space left on device",
                       IoError);
}
