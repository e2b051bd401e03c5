#include "model/architecture/model_import.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <string>

#include "model/base/document.hpp"
#include "tests/model/architecture/safetensors_builder.hpp"
#include "tests/model/architecture/temporary_folder.hpp"
#include "tests/relative.hpp"

namespace {

using namespace roofcast;
using roofcast::test::relative;
using test::SafetensorsBuilder;
using test::TemporaryFolder;

constexpr const char* kConfig =
    R"({"model_type": "llama", "hidden_size": 256, "num_hidden_layers": 1, "vocab_size": 1000,
        "num_attention_heads": 4, "intermediate_size": 512, "tie_word_embeddings": true,
        "torch_dtype": "bfloat16"})";

}  // namespace

TEST_CASE("a folder with a config.json is a model, named after the folder") {
  const TemporaryFolder folder;
  folder.write("config.json", kConfig);
  const ImportedModel model = import_model_path(folder.string());
  CHECK(model.spec.hidden_dim == 256);
  CHECK(folder.string().ends_with(model.spec.name));
}

TEST_CASE("the quantisation beside a config is found under either naming") {
  const TemporaryFolder folder;
  const char* quant = R"({"quantization": {"quant_algo": "FP8"}})";
  folder.write("a_config.json", kConfig);
  folder.write("a_hf_quant_config.json", quant);
  const ImportedModel model = import_model_path((folder / "a_config.json").string());
  CHECK(model.spec.name == "a");
  CHECK(model.spec.formats[Component::attention].bits == 8.0);
  CHECK_THROWS_AS(import_model_path((folder / "a_hf_quant_config.json").string()), SpecError);
}

TEST_CASE("the bytes of weights beside a config decide the formats") {
  const TemporaryFolder folder;
  folder.write("config.json", kConfig);
  // Attention: 4 x 256 x 256 elements, all of it in one stored tensor of one byte each.
  SafetensorsBuilder()
      .tensor("model.layers.0.self_attn.q_proj.weight", "F8_E4M3", {1024, 256}, 262144)
      .tensor("model.layers.0.mlp.up_proj.weight", "BF16", {1536, 256}, 786432)
      .tensor("model.embed_tokens.weight", "BF16", {1000, 256}, 512000)
      .write(folder / "model.safetensors");
  for (const std::string& path : {folder.string(), (folder / "model.safetensors").string()}) {
    const ImportedModel model = import_model_path(path);
    CHECK(model.spec.formats[Component::attention].format.name() == "fp8_e4m3");
    CHECK(model.spec.formats[Component::attention].bits == relative(8.0));
    CHECK(model.spec.formats[Component::dense_ffn].bits == relative(16.0));
  }
}

TEST_CASE("files are told apart by content where the ending does not say") {
  const TemporaryFolder folder;
  const std::string path = folder.write("model", std::string("\n  ") + kConfig);
  CHECK(import_model_path(path).spec.hidden_dim == 256);
  const std::string yaml = std::string(ROOFCAST_SOURCE_DIR) + "/architectures/llama-3.1-8b.yaml";
  CHECK(import_model_path(yaml).spec.hidden_dim == 4096);
}

TEST_CASE("what is no model is refused in one line") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(import_model_path((folder / "absent").string()), IoError);
  CHECK_THROWS_AS(import_model_path(folder.string()), SpecError);
  SafetensorsBuilder().tensor("a", "F32", {1}, 4).write(folder / "model.safetensors");
  CHECK_THROWS_AS(import_model_path((folder / "model.safetensors").string()), SpecError);
  folder.write("broken.json", "{\"model_type\": ");
  CHECK_THROWS_AS(import_model_path((folder / "broken.json").string()), SpecError);
}

TEST_CASE("links in a circle and names too long are I/O errors wherever an import meets them") {
  // The plain calls of std::filesystem throw errors of their own here, which nobody catches.
  const TemporaryFolder folder;
  folder.write("config.json", kConfig);
  std::filesystem::create_symlink("model.safetensors", folder / "model.safetensors");
  CHECK_THROWS_AS(import_model_path(folder.string()), IoError);
  std::filesystem::remove(folder / "model.safetensors");
  const std::string index = "model.safetensors.index.json";
  folder.write(index, R"({"weight_map": {"a": ")" + std::string(300, 'x') + R"(.safetensors"}})");
  CHECK_THROWS_AS(import_model_path(folder.string()), IoError);
  folder.write(index, R"({"weight_map": {"a": "circle.safetensors"}})");
  std::filesystem::create_symlink("circle.safetensors", folder / "circle.safetensors");
  CHECK_THROWS_AS(import_model_path(folder.string()), IoError);
  folder.write("m-00001-of-00002.gguf", "GGUF");
  std::filesystem::create_symlink("m-00002-of-00002.gguf", folder / "m-00002-of-00002.gguf");
  CHECK_THROWS_AS(import_model_path((folder / "m-00001-of-00002.gguf").string()), IoError);
  std::filesystem::remove(folder / "config.json");
  std::filesystem::create_symlink("config.json", folder / "config.json");
  CHECK_THROWS_AS(import_model_path(folder.string()), IoError);
}

TEST_CASE("a pipe is refused whatever its name, before anything waits for a writer") {
  const TemporaryFolder folder;
  for (const char* name : {"pipe", "pipe.json", "pipe.yaml", "pipe.gguf", "pipe.safetensors"}) {
    CAPTURE(name);
    REQUIRE(mkfifo((folder / name).c_str(), 0600) == 0);
    folder.write("config.json", kConfig);
    CHECK_THROWS_AS(import_model_path((folder / name).string()), IoError);
  }
}

TEST_CASE("a weight file without tensors is named in the warning") {
  const TemporaryFolder folder;
  folder.write("config.json", kConfig);
  SafetensorsBuilder().write(folder / "model.safetensors");
  const ImportedModel model = import_model_path(folder.string());
  CHECK(model.warnings ==
        std::vector<std::string>{(folder / "model.safetensors").string() +
                                 ": holds no tensors, so formats are the config's"});
}
