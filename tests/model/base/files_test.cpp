#include "model/base/files.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/base/document.hpp"
#include "tests/model/architecture/temporary_folder.hpp"

using namespace roofcast;
namespace fs = std::filesystem;

namespace {

template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const IoError& error) {
    return error.what();
  }
  return "no IoError";
}

}  // namespace

TEST_CASE("a path is a file, a folder, something else or missing, links followed") {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("file", "text");
  fs::create_symlink(file, folder / "link");
  fs::create_symlink("nowhere", folder / "dangling");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(path_kind(file) == PathKind::file);
  CHECK(path_kind(folder / "link") == PathKind::file);
  CHECK(path_kind(folder.string()) == PathKind::folder);
  CHECK(path_kind(folder / "pipe") == PathKind::other);
  CHECK(path_kind(folder / "dangling") == PathKind::missing);
  CHECK(path_kind(file + "/below") == PathKind::missing);
  CHECK_FALSE(path_exists(folder / "absent"));
}

TEST_CASE("what the system does not tell is an IoError with its reason") {
  // strerror's texts of ELOOP and ENAMETOOLONG.
  const test::TemporaryFolder folder;
  const std::string circle = (folder / "circle").string();
  fs::create_symlink("circle", circle);
  const std::string reason = ": cannot be read: Too many levels of symbolic links";
  CHECK(error_of([&] { path_kind(circle); }) == circle + reason);
  CHECK(error_of([&] { folder_entries(circle); }) == circle + reason);
  CHECK(error_of([&] { read_text_file(circle); }) == circle + reason);
  CHECK(error_of([&] {
          path_kind(folder / std::string(300, 'x'));
        }).ends_with("x: cannot be read: File name too long"));
}

TEST_CASE("a file or folder without permission is not taken for a missing one") {
  if (geteuid() == 0) {
    MESSAGE("root may read everything");
    return;
  }
  const test::TemporaryFolder folder;
  const std::string file = folder.write("file", "text");
  const std::string reason = ": cannot be read: Permission denied";
  fs::permissions(file, fs::perms::none);
  CHECK(error_of([&] { read_text_file(file); }) == file + reason);
  fs::create_directory(folder / "closed");
  fs::permissions(folder / "closed", fs::perms::none);
  const std::string inside = (folder / "closed/file").string();
  CHECK(error_of([&] { read_text_file(inside); }) == inside + reason);
  CHECK(error_of([&] { folder_entries(folder / "closed"); }) ==
        (folder / "closed").string() + reason);
  fs::permissions(folder / "closed", fs::perms::owner_all);
}

TEST_CASE("entries of a folder come sorted") {
  const test::TemporaryFolder folder;
  for (const char* name : {"b", "c", "a"}) folder.write(name, "");
  CHECK(folder_entries(folder.string()) ==
        std::vector<fs::path>{folder / "a", folder / "b", folder / "c"});
}

TEST_CASE("only regular files are opened") {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("file", "text");
  BinaryFile opened = open_binary_file(file);
  CHECK(opened.bytes == 4);
  CHECK(opened.stream.get() == 't');
  // A pipe without a writer would block for ever.
  const std::string pipe = (folder / "pipe").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(error_of([&] { open_binary_file(pipe); }) ==
        pipe + ": expected a regular file, got a pipe or device");
  CHECK(error_of([&] { open_binary_file(folder.string()); }) ==
        folder.string() + ": expected a regular file, got a folder");
  const std::string absent = (folder / "absent").string();
  CHECK(error_of([&] { open_binary_file(absent); }) == absent + ": no such file");
}
