#include "model/architecture/safetensors_import.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "model/architecture/architecture_yaml.hpp"
#include "tests/model/architecture/safetensors_builder.hpp"
#include "tests/relative.hpp"

using namespace roofcast;
using roofcast::test::relative;
using test::SafetensorsBuilder;

namespace {

/// Two layers of width 256: matrices of attention 2 x (256 + 256) x 256, of feed-forward 3 x 512 x
/// 256 a layer; a vocabulary of 1000.
ImportedModel configured(std::string_view formats) {
  const std::string yaml = R"(
schema: 1
name: tiny
hidden_dim: 256
vocab_size: 1000
attention: {full: {kind: gqa, n_heads: 2, n_kv_heads: 1, head_dim: 128}}
ffn: {dense: {kind: dense, ffn_dim: 512}}
layers: [{count: 2, attention: full, ffn: dense}]
formats: )" + std::string(formats) +
                           "\n";
  ImportedModel model;
  model.spec = read_architecture(parse_yaml(yaml, "tiny.yaml"));
  return model;
}

SafetensorsModel read(const SafetensorsBuilder& file) {
  std::istringstream in(file.header());
  SafetensorsHeader header = read_safetensors_header(in, file.size_with_data(), "x.safetensors");
  SafetensorsModel model;
  model.files = {header.file};
  model.tensors = std::move(header.tensors);
  return model;
}

struct Matrix {
  const char* name;
  std::int64_t out;
  std::int64_t in;
};

constexpr Matrix kMatrices[] = {{"self_attn.q_proj", 256, 256}, {"self_attn.k_proj", 128, 256},
                                {"self_attn.v_proj", 128, 256}, {"self_attn.o_proj", 256, 256},
                                {"mlp.gate_proj", 512, 256},    {"mlp.up_proj", 512, 256},
                                {"mlp.down_proj", 256, 512}};

std::string layer_name(int layer, const char* rest) {
  return "model.layers." + std::to_string(layer) + "." + rest;
}

/// A file whose layers' matrices are added by `add(file, name, matrix)`; all else is bf16.
template <typename Add>
SafetensorsModel weights(Add add) {
  SafetensorsBuilder file;
  file.tensor("model.embed_tokens.weight", "BF16", {1000, 256}, 512000);
  file.tensor("lm_head.weight", "BF16", {1000, 256}, 512000);
  file.tensor("model.norm.weight", "BF16", {256}, 512);
  for (int layer = 0; layer < 2; ++layer) {
    file.tensor(layer_name(layer, "input_layernorm.weight"), "BF16", {256}, 512);
    file.tensor(layer_name(layer, "post_attention_layernorm.weight"), "BF16", {256}, 512);
    for (const Matrix& matrix : kMatrices) add(file, layer_name(layer, matrix.name), matrix);
  }
  return read(file);
}

std::uint64_t unsigned_bytes(std::int64_t n) { return static_cast<std::uint64_t>(n); }

}  // namespace

TEST_CASE("bf16 weights give the bytes of the file exactly") {
  ImportedModel model = configured("{}");
  const SafetensorsModel file = weights([](auto& f, const std::string& name, const Matrix& m) {
    f.tensor(name + ".weight", "BF16", {m.out, m.in}, unsigned_bytes(m.out * m.in * 2));
  });
  set_formats_from_safetensors(model, file);
  std::int64_t bytes = 0;
  for (const SafetensorsTensor& tensor : file.tensors) bytes += tensor.bytes;
  CHECK(weight_bytes(model.spec).resident.value == static_cast<double>(bytes));
  CHECK(model.spec.formats[Component::attention].bits == 16.0);
  CHECK(model.warnings.empty());
}

TEST_CASE("block-scaled fp8 keeps the config's format and takes its scales from the file") {
  ImportedModel model = configured("{weights: fp8_block128}");
  set_formats_from_safetensors(
      model, weights([](auto& f, const std::string& name, const Matrix& m) {
        f.tensor(name + ".weight", "F8_E4M3", {m.out, m.in}, unsigned_bytes(m.out * m.in));
        f.tensor(name + ".weight_scale_inv", "F32", {m.out / 128, m.in / 128},
                 unsigned_bytes(m.out / 128 * (m.in / 128) * 4));
      }));
  CHECK(model.spec.formats[Component::dense_ffn].format.name() == "fp8_block128");
  CHECK(model.spec.formats[Component::dense_ffn].bits == 8.0 + 32.0 / 16384.0);
  CHECK(model.spec.formats[Component::lm_head].format.name() == "bf16");
  CHECK(model.warnings.empty());
}

TEST_CASE("GPTQ's packed words give the true bits, zero points and order included") {
  ImportedModel model = configured("{weights: gptq_g128}");
  set_formats_from_safetensors(
      model, weights([](auto& f, const std::string& name, const Matrix& m) {
        f.tensor(name + ".qweight", "I32", {m.in / 8, m.out}, unsigned_bytes(m.in / 2 * m.out));
        f.tensor(name + ".qzeros", "I32", {m.in / 128, m.out / 8},
                 unsigned_bytes(m.in / 128 * (m.out / 2)));
        f.tensor(name + ".scales", "F16", {m.in / 128, m.out},
                 unsigned_bytes(m.in / 128 * m.out * 2));
        f.tensor(name + ".g_idx", "I32", {m.in}, unsigned_bytes(m.in * 4));
      }));
  const Storage& dense = model.spec.formats[Component::dense_ffn];
  CHECK(dense.format.name() == "gptq_g128");
  // 4 + 4/128 + 16/128 bits, and 32 bits per input over the outputs: (2 x 256 + 512) x 32 bits
  // for 3 x 512 x 256 elements.
  CHECK(dense.bits == relative(4.15625 + 1024.0 * 32.0 / 393216.0).epsilon(1e-12));
  CHECK(model.warnings.empty());
}

TEST_CASE("a file that contradicts the config is taken at its word") {
  ImportedModel model = configured("{weights: fp8_e4m3}");
  set_formats_from_safetensors(
      model, weights([](auto& f, const std::string& name, const Matrix& m) {
        f.tensor(name + ".weight", "F16", {m.out, m.in}, unsigned_bytes(m.out * m.in * 2));
      }));
  CHECK(model.spec.formats[Component::attention].format.name() == "fp16");
  CHECK(model.spec.formats[Component::attention].bits == 16.0);
}

TEST_CASE("weights that the architecture lacks or misses are warned of") {
  ImportedModel model = configured("{}");
  SafetensorsBuilder file;
  file.tensor("model.layers.0.self_attn.q_proj.weight", "BF16", {256, 256}, 131072);
  file.tensor("model.strange.weight", "BF16", {4, 4}, 32);
  set_formats_from_safetensors(model, read(file));
  REQUIRE(model.warnings.size() == 2);
  CHECK(model.warnings[0] ==
        "attention: the file holds 65536 elements where the imported architecture has 393216");
  CHECK(model.warnings[1] ==
        "1 tensors of 32 B belong to no known component, first model.strange.weight");
}

TEST_CASE("an index without its files is compared by its total") {
  ImportedModel model = configured("{}");
  SafetensorsModel index;
  index.index_file = "model.safetensors.index.json";
  // bf16: 2 x 1000 x 256 + 2 x (196608 + 393216) + 5 x 256 elements
  index.indexed_bytes = 2 * (2 * 256000 + 2 * (196608 + 393216) + 1280);
  set_formats_from_safetensors(model, index);
  CHECK(model.warnings.empty());
  index.indexed_bytes = *index.indexed_bytes / 2;
  set_formats_from_safetensors(model, index);
  REQUIRE(model.warnings.size() == 1);
  CHECK(model.warnings[0].find("the weights take 1692928 B") != std::string::npos);
}
