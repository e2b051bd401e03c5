#include "model/architecture/gguf_model.hpp"

#include <doctest/doctest.h>

#include "model/base/error.hpp"
#include "tests/model/architecture/gguf_builder.hpp"
#include "tests/model/architecture/temporary_folder.hpp"

using namespace roofcast;
using test::GgufBuilder;
using test::TemporaryFolder;

namespace {

/// Part `no` (from 0) of a model split in two; each holds one tensor of 64 bytes.
GgufBuilder part(std::uint16_t no, std::string_view tensor, std::int32_t all_tensors = 2) {
  GgufBuilder file;
  if (no == 0) file.set("general.architecture", "llama");
  file.set("split.no", no).set("split.count", std::uint16_t{2});
  file.set("split.tensors.count", all_tensors);
  file.tensor(tensor, {16}, 0, 64);
  return file;
}

std::string error_of(const std::string& path) {
  try {
    read_gguf_model(path);
  } catch (const SpecError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("any part and the folder read as the whole split model") {
  const TemporaryFolder folder;
  part(0, "token_embd.weight").write(folder / "m-00001-of-00002.gguf");
  part(1, "output.weight").write(folder / "m-00002-of-00002.gguf");
  GgufBuilder().set("general.architecture", "clip").write(folder / "mmproj-model-f16.gguf");
  for (const std::string& path : {folder.string(), (folder / "m-00001-of-00002.gguf").string(),
                                  (folder / "m-00002-of-00002.gguf").string()}) {
    CAPTURE(path);
    CHECK(looks_like_gguf(path));
    const GgufModel model = read_gguf_model(path);
    REQUIRE(model.tensors.size() == 2);
    CHECK(model.tensors[0].name == "token_embd.weight");
    CHECK(model.tensors[1].name == "output.weight");
    CHECK(model.files.size() == 2);
    CHECK(std::get<std::string>(model.find("general.architecture")->data) == "llama");
  }
}

TEST_CASE("a missing part is refused by name") {
  const TemporaryFolder folder;
  part(0, "a").write(folder / "m-00001-of-00002.gguf");
  const std::string error = error_of(folder.string());
  CHECK(error == (folder / "m-00002-of-00002.gguf").string() + ": part 2 of 2 is missing");
}

TEST_CASE("parts that do not belong together are refused") {
  const TemporaryFolder folder;
  part(0, "a").write(folder / "m-00001-of-00002.gguf");
  part(0, "b").write(folder / "m-00002-of-00002.gguf");
  CHECK(error_of(folder.string()).find("split.no: expected 1 as in the name, got 0") !=
        std::string::npos);
  part(1, "a").write(folder / "m-00002-of-00002.gguf");
  CHECK(error_of(folder.string()).find("a: expected each tensor in one part, got it in two") !=
        std::string::npos);
  part(0, "a", 3).write(folder / "m-00001-of-00002.gguf");
  part(1, "b").write(folder / "m-00002-of-00002.gguf");
  CHECK(error_of(folder.string()).find("expected 3 tensors in all parts, got 2") !=
        std::string::npos);
}

TEST_CASE("a folder of several models or of none is refused") {
  const TemporaryFolder folder;
  CHECK(error_of(folder.string()).find("expected a .gguf file, got none") != std::string::npos);
  CHECK_FALSE(looks_like_gguf(folder.string()));
  GgufBuilder().write(folder / "m-Q4_K_M.gguf");
  GgufBuilder().write(folder / "m-Q8_0.gguf");
  CHECK(error_of(folder.string()).find("got 2: m-Q4_K_M.gguf, m-Q8_0.gguf; name one of them") !=
        std::string::npos);
  CHECK_THROWS_AS(read_gguf_model((folder / "absent.gguf").string()), IoError);
}

TEST_CASE("a split file under another name is refused") {
  const TemporaryFolder folder;
  part(0, "a").write(folder / "first.gguf");
  CHECK(error_of((folder / "first.gguf").string()).find("split.count: one of 2 parts") !=
        std::string::npos);
}
