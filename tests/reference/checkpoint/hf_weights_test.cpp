#include "model/reference/checkpoint/hf_weights.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "model/base/error.hpp"
#include "tests/model/architecture/safetensors_builder.hpp"
#include "tests/model/architecture/temporary_folder.hpp"

namespace roofcast {
namespace {

using test::SafetensorsBuilder;
using test::TemporaryFolder;

constexpr const char* kConfig = R"({
  "model_type": "llama", "hidden_size": 32, "num_hidden_layers": 1, "vocab_size": 8,
  "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16, "intermediate_size": 48,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16"
})";

/// A change of the weights of a model of one layer.
struct Odd {
  std::string name = {};   // the tensor that differs,
  std::string dtype = {};  // by its dtype,
  std::int64_t rows = 0;   // or its rows; -1: it is missing
};

/// Writes a whole model whose tensors are zero.
void write_model(const TemporaryFolder& folder, const Odd& odd, const std::string& extra = {}) {
  folder.write("config.json", kConfig);
  SafetensorsBuilder file;
  const auto add = [&](const std::string& name, std::int64_t rows, std::int64_t columns) {
    const bool is_odd = name == odd.name;
    if (is_odd && odd.rows < 0) return;
    if (is_odd && odd.rows > 0) rows = odd.rows;
    const std::string dtype = is_odd && !odd.dtype.empty() ? odd.dtype : "BF16";
    const auto elements = static_cast<std::uint64_t>(rows * std::max<std::int64_t>(columns, 1));
    const std::uint64_t bytes = elements * (dtype == "F32" ? 4 : dtype == "F8_E4M3" ? 1 : 2);
    if (columns == 0)
      file.tensor(name, dtype, {rows}, bytes);
    else
      file.tensor(name, dtype, {rows, columns}, bytes);
  };
  const std::string layer = "model.layers.0.";
  add("model.embed_tokens.weight", 8, 32);
  add("lm_head.weight", 8, 32);
  add("model.norm.weight", 32, 0);
  add(layer + "input_layernorm.weight", 32, 0);
  add(layer + "post_attention_layernorm.weight", 32, 0);
  add(layer + "self_attn.q_proj.weight", 32, 32);
  add(layer + "self_attn.k_proj.weight", 16, 32);
  add(layer + "self_attn.v_proj.weight", 16, 32);
  add(layer + "self_attn.o_proj.weight", 32, 32);
  add(layer + "mlp.up_proj.weight", 48, 32);
  add(layer + "mlp.gate_proj.weight", 48, 32);
  add(layer + "mlp.down_proj.weight", 32, 48);
  if (!extra.empty()) add(extra, 4, 4);
  file.write(folder / "model.safetensors");
}

std::string refusal(const Odd& odd, const std::string& extra = {}) {
  const TemporaryFolder folder;
  write_model(folder, odd, extra);
  try {
    read_checkpoint(folder.string());
  } catch (const SpecError& error) {
    const std::string message = error.what();
    const std::string where = folder.string();
    return message.rfind(where, 0) == 0 ? message.substr(where.size()) : message;
  }
  return "";
}

TEST_CASE("a whole model is read") {
  const TemporaryFolder folder;
  write_model(folder, {});
  const Checkpoint model = read_checkpoint(folder.string());
  CHECK(model.spec.layers.size() == 1);
  float row[48] = {1.0F};
  model.weights->read_row({Tensor::down, 0, 31, 48}, row);
  CHECK(row[0] == 0.0F);
  CHECK_THROWS_AS(model.weights->read_row({Tensor::down, 0, 32, 48}, row), std::invalid_argument);
  CHECK_THROWS_AS(model.weights->read_row({Tensor::down, 1, 0, 48}, row), std::invalid_argument);
  CHECK_THROWS_AS(model.weights->read_row({Tensor::sinks, 0, 0, 2}, row), std::invalid_argument);
}

TEST_CASE("weights that do not fit the config are refused with file, tensor and shape") {
  CHECK(refusal({.name = "model.layers.0.self_attn.k_proj.weight", .rows = 32}) ==
        "/model.safetensors: model.layers.0.self_attn.k_proj.weight: expected shape (16, 32), got "
        "(32, 32)");
  CHECK(refusal({.name = "model.norm.weight", .rows = 31}) ==
        "/model.safetensors: model.norm.weight: expected shape (32), got (31)");
  CHECK(refusal({.name = "lm_head.weight", .rows = -1}) ==
        ": lm_head.weight: expected shape (8, 32), got no tensor");
  CHECK(refusal({.name = "model.norm.weight", .dtype = "F8_E4M3"}) ==
        "/model.safetensors: model.norm.weight: expected BF16, F16 or F32, got F8_E4M3");
  CHECK(refusal({}, "model.layers.0.self_attn.q_proj.bias").find("has no use for this tensor") !=
        std::string::npos);
  // Multi-token-prediction blocks behind the last layer stay unread, rotary tables too.
  CHECK(refusal({}, "model.layers.1.self_attn.q_proj.weight").empty());
  CHECK(refusal({}, "model.layers.0.self_attn.rotary_emb.inv_freq").empty());
}

TEST_CASE("elements of each dtype are exact, and need not be aligned") {
  // 1, -1.5, 2^-24 and 65504 as IEEE binary16; 0x3f80 is 1 in bf16.
  const unsigned char halves[] = {0, 0x00, 0x3c, 0x00, 0xbe, 0x01, 0x00, 0xff, 0x7b};
  MappedTensor tensor;
  tensor.data = reinterpret_cast<const std::byte*>(halves + 1);
  tensor.header.dtype = "F16";
  float out[4] = {};
  read_elements(tensor, 0, 1, 4, out);
  CHECK(out[0] == 1.0F);
  CHECK(out[1] == -1.5F);
  CHECK(out[2] == 0x1p-24F);
  CHECK(out[3] == 65504.0F);
  unsigned char words[13] = {};
  const float values[] = {0.1F, -3e38F, 7.0F};
  std::memcpy(words + 1, values, sizeof values);
  tensor.data = reinterpret_cast<const std::byte*>(words + 1);
  tensor.header.dtype = "F32";
  read_elements(tensor, 0, 2, 2, out);
  CHECK(out[0] == 0.1F);
  CHECK(out[1] == 7.0F);
  const unsigned char brains[] = {0, 0x80, 0x3f, 0x00, 0xc0};
  tensor.data = reinterpret_cast<const std::byte*>(brains + 1);
  tensor.header.dtype = "BF16";
  read_elements(tensor, 0, 1, 2, out);
  CHECK(out[0] == 1.0F);
  CHECK(out[1] == -2.0F);
}

TEST_CASE("a model without a table of names is refused by its type") {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "mamba", "hidden_size": 32})");
  CHECK_THROWS_AS(read_checkpoint(folder.string()), SpecError);
  CHECK_THROWS_WITH_AS(tensor_rules("mamba"), doctest::Contains("model_type \"mamba\""),
                       UnsupportedError);
  CHECK_THROWS_AS(read_checkpoint((folder / "absent").string()), IoError);
}

}  // namespace
}  // namespace roofcast
