#include "model/base/catalogue_files.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "tests/model/architecture/temporary_folder.hpp"

using namespace roofcast;

namespace {

constexpr std::array kBuiltIn = {EmbeddedFile{"beta.yaml", "name: built-in beta\n"},
                                 EmbeddedFile{"calibrated/beta.yaml", "name: calibrated\n"},
                                 EmbeddedFile{"gamma.yaml", "name: built-in gamma\n"}};

/// Sets $ROOFCAST_DATA for the life of this object.
class DataFolder {
 public:
  explicit DataFolder(const std::string& path) {
    if (const char* old = std::getenv("ROOFCAST_DATA")) old_ = old;
    setenv("ROOFCAST_DATA", path.c_str(), 1);
  }
  ~DataFolder() {
    if (old_)
      setenv("ROOFCAST_DATA", old_->c_str(), 1);
    else
      unsetenv("ROOFCAST_DATA");
  }
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

 private:
  std::optional<std::string> old_;
};

std::string name_of(const std::string& entry) {
  return find_catalogue_file(kBuiltIn, "things", "thing", entry).root.find("name")->scalar;
}

std::string error_of(const std::string& entry) {
  try {
    find_catalogue_file(kBuiltIn, "things", "thing", entry);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("without a data folder the catalogue is what is built in, subfolders aside") {
  const DataFolder none("");
  CHECK(catalogue_names(kBuiltIn, "things") == std::vector<std::string>{"beta", "gamma"});
  CHECK(name_of("beta") == "built-in beta");
  CHECK(find_catalogue_file(kBuiltIn, "things", "thing", "beta").file == "things/beta.yaml");
}

TEST_CASE("files in the data folder are added, and win over those built in") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "things");
  const std::string beta = folder.write("things/beta.yaml", "name: own beta\n");
  folder.write("things/alpha.yaml", "name: own alpha\n");
  folder.write("things/notes.txt", "no entry");
  const DataFolder data(folder.string());
  CHECK(catalogue_names(kBuiltIn, "things") == std::vector<std::string>{"alpha", "beta", "gamma"});
  CHECK(name_of("alpha") == "own alpha");
  CHECK(name_of("beta") == "own beta");
  CHECK(name_of("gamma") == "built-in gamma");
  CHECK(find_catalogue_file(kBuiltIn, "things", "thing", "beta").file == beta);
}

TEST_CASE("a broken file in the data folder is reported, not passed over") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "things");
  const std::string path = folder.write("things/beta.yaml", "name: [1\n");
  const DataFolder data(folder.string());
  CHECK(error_of("beta").starts_with(path + ":"));
}

TEST_CASE("a data folder that does not exist changes nothing") {
  const DataFolder data("/nonexistent/folder");
  CHECK(catalogue_names(kBuiltIn, "things").size() == 2);
  CHECK(name_of("gamma") == "built-in gamma");
}

TEST_CASE("a data folder that cannot be listed is an error, not an empty one") {
  const test::TemporaryFolder folder;
  std::filesystem::create_symlink("things", folder / "things");
  const DataFolder data(folder.string());
  CHECK_THROWS_AS(catalogue_names(kBuiltIn, "things"), IoError);
  CHECK_THROWS_AS(name_of("beta"), IoError);
}

TEST_CASE("an unknown name is refused with the nearest one") {
  const DataFolder none("");
  CHECK(error_of("gama") ==
        "unknown thing \"gama\": expected a catalogue name or the path of a file, did you mean "
        "\"gamma\"?");
  CHECK(error_of("zzzzzzz") ==
        "unknown thing \"zzzzzzz\": expected a catalogue name or the path of a file");
}

TEST_CASE("a file is named by its spelling, or by being there when no entry is called so") {
  const std::vector<std::string> names = {"beta"};
  for (const char* text : {"x.yaml", "x.yml", "x.json", "x.gguf", "x.safetensors", "a/b", "/"})
    CHECK(names_a_file(text, names));
  CHECK_FALSE(names_a_file("beta", names));
  CHECK_FALSE(names_a_file("absent.cfg", names));
  const test::TemporaryFolder folder;
  folder.write("own.cfg", "name: own\n");
  folder.write("beta", "name: another\n");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.string());
  CHECK(names_a_file("own.cfg", names));
  CHECK_FALSE(names_a_file("beta", names));
  CHECK(read_spec_file("own.cfg").root.find("name")->scalar == "own");
  std::filesystem::current_path(before);
}

TEST_CASE("a name cannot leave the catalogue's folder") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "things");
  folder.write("secret.yaml", "name: secret\n");
  const DataFolder data((folder / "things").string());
  CHECK(error_of("../secret").starts_with("unknown thing"));
  CHECK(error_of("calibrated/beta").starts_with("unknown thing"));
  CHECK(error_of("").starts_with("unknown thing"));
  CHECK(error_of(std::string(100000, 'x')).starts_with("unknown thing"));
}
