#include "model/architecture/model_import.hpp"

#include <doctest/doctest.h>

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
