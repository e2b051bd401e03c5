#include "model/architecture/safetensors_model.hpp"

#include <doctest/doctest.h>

#include "model/base/error.hpp"
#include "tests/model/architecture/safetensors_builder.hpp"
#include "tests/model/architecture/temporary_folder.hpp"

using namespace roofcast;
using test::SafetensorsBuilder;
using test::TemporaryFolder;

namespace {

constexpr std::string_view kIndex = R"({"metadata": {"total_size": 48},
 "weight_map": {"lm_head.weight": "model-00002-of-00002.safetensors",
                "model.norm.weight": "model-00001-of-00002.safetensors"}})";

void write_shards(const TemporaryFolder& folder) {
  SafetensorsBuilder first;
  first.tensor("model.norm.weight", "BF16", {8}, 16)
      .write(folder / "model-00001-of-00002.safetensors");
  SafetensorsBuilder second;
  second.tensor("lm_head.weight", "BF16", {2, 8}, 32)
      .write(folder / "model-00002-of-00002.safetensors");
}

std::string error_of(const std::string& path) {
  try {
    read_safetensors_model(path);
  } catch (const SpecError& error) {
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an index alone gives names and the total size") {
  const TemporaryFolder folder;
  const std::string path = folder.write("model.safetensors.index.json", kIndex);
  for (const std::string& from : {path, folder.string()}) {
    CHECK(looks_like_safetensors(from));
    const SafetensorsModel model = read_safetensors_model(from);
    CHECK(model.tensors.empty());
    CHECK(model.indexed_bytes == 48);
    CHECK(model.indexed_names == std::vector<std::string>{"lm_head.weight", "model.norm.weight"});
  }
}

TEST_CASE("an index with its shards gives exact bytes") {
  const TemporaryFolder folder;
  folder.write("model.safetensors.index.json", kIndex);
  write_shards(folder);
  const SafetensorsModel model = read_safetensors_model(folder.string());
  REQUIRE(model.tensors.size() == 2);
  CHECK(model.tensors[0].bytes + model.tensors[1].bytes == 48);
  CHECK(model.files.size() == 2);
}

TEST_CASE("some missing shards are refused by name") {
  const TemporaryFolder folder;
  folder.write("model.safetensors.index.json", kIndex);
  write_shards(folder);
  std::filesystem::remove(folder / "model-00001-of-00002.safetensors");
  CHECK(contains(error_of(folder.string()),
                 "model-00001-of-00002.safetensors: 1 of 2 shards of the index are missing"));
}

TEST_CASE("an index that contradicts its shards or points outside is refused") {
  const TemporaryFolder folder;
  write_shards(folder);
  const std::string path = folder.write("model.safetensors.index.json", R"({"weight_map":
{"model.norm.weight": "model-00002-of-00002.safetensors"}})");
  CHECK(contains(error_of(path), "model.norm.weight: expected this tensor as the index says"));
  folder.write("model.safetensors.index.json",
               R"({"weight_map": {"a": "../../etc/x.safetensors"}})");
  CHECK(contains(error_of(path),
                 "index.json:1:22: weight_map.a: expected the name of a .safetensors file"));
  folder.write("model.safetensors.index.json", R"({"weight_map": {"a": 7}})");
  CHECK(contains(error_of(path),
                 "weight_map.a: expected the name of a .safetensors file, got \"7\""));
  folder.write("model.safetensors.index.json", "{}");
  CHECK(contains(error_of(path), "weight_map"));
}

TEST_CASE("a single file and a folder with one read alike") {
  const TemporaryFolder folder;
  CHECK(
      contains(error_of(folder.string()), "expected model.safetensors or its index, got neither"));
  SafetensorsBuilder file;
  file.tensor("model.norm.weight", "F32", {4}, 16).write(folder / "model.safetensors");
  CHECK(read_safetensors_model(folder.string()).tensors.size() == 1);
  CHECK(read_safetensors_model((folder / "model.safetensors").string()).file_bytes ==
        file.size_with_data());
}
