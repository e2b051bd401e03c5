#include "model/architecture/hf_quantization.hpp"

#include <doctest/doctest.h>

#include <string>

#include "model/architecture/hf_config.hpp"
#include "model/architecture/hf_name_pattern.hpp"
#include "tests/relative.hpp"

namespace {

using namespace roofcast;
using roofcast::detail::ModuleSet;
using roofcast::detail::NameRegex;
using roofcast::test::relative;

/// Two Llama layers: hidden 256, 4 heads of 64, feed-forward 512.
Document llama(const std::string& quantization) {
  return parse_json(
      "{\"model_type\": \"llama\", \"hidden_size\": 256, \"num_hidden_layers\": 2,"
      "\"num_attention_heads\": 4, \"intermediate_size\": 512, \"vocab_size\": 1000,"
      "\"torch_dtype\": \"bfloat16\"" +
          (quantization.empty() ? "" : ",\n\"quantization_config\": " + quantization) + "}",
      "config.json");
}

Formats formats_of(const std::string& quantization) {
  return import_hf_config(llama(quantization)).spec.formats;
}

std::string refusal(const std::string& quantization) {
  try {
    formats_of(quantization);
  } catch (const UnsupportedError& error) {
    return error.what();
  }
  return "not refused";
}

}  // namespace

TEST_CASE("block-scaled fp8 leaves embedding, head and router in 16 bits") {
  const Formats f = formats_of(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})");
  CHECK(f[Component::attention].format.name() == "fp8_block128");
  CHECK(f[Component::dense_ffn].bits == relative(8.0 + 32.0 / 16384.0));
  CHECK(f[Component::lm_head].bits == 16.0);
  CHECK(f[Component::embedding].bits == 16.0);
  CHECK(f[Component::router].bits == 16.0);
  CHECK(f[Component::k].bits == 16.0);
}

TEST_CASE("a block of scaled weights has two sides and more than a few elements") {
  const auto message = [](const std::string& block) -> std::string {
    try {
      formats_of("{\"quant_method\": \"fp8\", \"weight_block_size\": " + block + "}");
    } catch (const SpecError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string at = "config.json:2:69: quantization_config.weight_block_size: ";
  CHECK(message("[1]") == at + "expected two whole numbers, rows and columns, got 1");
  CHECK(message("[]") == at + "expected two whole numbers, rows and columns, got 0");
  CHECK(message("[8, 8, 8]") == at + "expected two whole numbers, rows and columns, got 3");
  CHECK(message("[1, 1]") == at + "expected blocks of at least 16 elements, got 1 x 1");
  CHECK(message("[0, 128]").find("expected a whole number from 1") != std::string::npos);
  CHECK(message("128") == at + "expected a list, got \"128\"");
  // MX formats scale 32 elements of one row: 8 + 32 / 32 bits.
  CHECK(message("[1, 32]") == "no error");
  CHECK(message("null") == "no error");
}

TEST_CASE("an ignore list over some layers gives the mean weighted by parameters") {
  // Attention: 4 x 256 x 256 a layer. In layer 0 all of it stays in 16 bits: (16 + 8) / 2.
  const ImportedModel model = import_hf_config(
      llama(R"({"quant_method": "fp8", "modules_to_not_convert": ["model.layers.0.self_attn"]})"));
  CHECK(model.spec.formats[Component::attention].bits == relative(12.0));
  CHECK(model.spec.formats[Component::dense_ffn].bits == 8.0);
  REQUIRE(model.warnings.size() == 1);
  CHECK(model.warnings[0].starts_with("attention: quantised in part; mean 12.000 bits"));
}

TEST_CASE("one ignored matrix of three weighs a third") {
  // down_proj in 16 bits, gate and up in 4.5: (16 + 2 x 4.5) / 3
  const Formats f = formats_of(R"({"quant_method": "modelopt", "quant_algo": "NVFP4",
      "ignore": ["lm_head", "*mlp.down_proj"], "kv_cache_scheme": {"num_bits": 8, "type": "float"}})");
  CHECK(f[Component::dense_ffn].bits == relative(25.0 / 3.0));
  CHECK(f[Component::dense_ffn].format.name() == "nvfp4");
  CHECK(f[Component::attention].bits == 4.5);
  CHECK(f[Component::lm_head].bits == 16.0);
  CHECK(f[Component::v].format.name() == "fp8_e4m3");
}

TEST_CASE("compressed-tensors groups and expressions are read") {
  const Formats f = formats_of(R"({"quant_method": "compressed-tensors",
      "config_groups": {"group_0": {"targets": ["Linear"], "weights":
        {"num_bits": 4, "type": "int", "group_size": 128, "strategy": "group", "symmetric": true}}},
      "ignore": ["re:.*self_attn.*", "re:.*mlp\\.(gate|up)_proj$", "lm_head"]})");
  CHECK(f[Component::attention].bits == 16.0);
  // gate and up ignored, down at 4.125: (2 x 16 + 4.125) / 3
  CHECK(f[Component::dense_ffn].bits == relative(36.125 / 3.0));
  CHECK(f[Component::lm_head].bits == 16.0);
}

TEST_CASE("AWQ and GPTQ carry zero points; group sizes other than 128 count") {
  const Formats awq = formats_of(R"({"quant_method": "awq", "bits": 4, "group_size": 128})");
  CHECK(awq[Component::attention].bits == relative(4.0 + 20.0 / 128.0));
  const Formats gptq = formats_of(R"({"quant_method": "gptq", "bits": 4, "group_size": 32})");
  CHECK(gptq[Component::dense_ffn].bits == relative(4.0 + 20.0 / 32.0));
  CHECK(gptq[Component::lm_head].bits == 16.0);
}

TEST_CASE("four-bit bitsandbytes counts its scales") {
  const Formats f = formats_of(R"({"quant_method": "bitsandbytes", "load_in_4bit": true,
      "bnb_4bit_use_double_quant": true})");
  CHECK(f[Component::attention].bits == relative(4.127).epsilon(1e-4));
}

TEST_CASE("hf_quant_config.json decides where both files are there") {
  const Document quant = parse_json(R"({"producer": {"name": "modelopt"}, "quantization":
      {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}})",
                                    "hf_quant_config.json");
  const ImportedModel model = import_hf_config(llama(""), &quant);
  CHECK(model.spec.formats[Component::attention].format.name() == "fp8_e4m3");
  CHECK(model.spec.formats[Component::k].format.name() == "fp8_e4m3");
  CHECK(model.warnings.empty());
}

TEST_CASE("per-layer formats of ModelOpt are read by module name") {
  const Document quant = parse_json(R"({"quantization": {"quant_algo": "MIXED_PRECISION",
      "quantized_layers": {"model.layers.0.mlp.up_proj": {"quant_algo": "FP8"},
                           "lm_head": {"quant_algo": "W4A16_NVFP4", "group_size": 16}}}})",
                                    "hf_quant_config.json");
  const Formats f = import_hf_config(llama(""), &quant).spec.formats;
  // one of six feed-forward matrices at 8 bits: (5 x 16 + 8) / 6
  CHECK(f[Component::dense_ffn].bits == relative(88.0 / 6.0));
  CHECK(f[Component::lm_head].bits == 4.5);
  CHECK(f[Component::attention].bits == 16.0);
}

TEST_CASE("unknown quantisations are refused by name") {
  CHECK(refusal(R"({"quant_method": "aqlm"})")
            .starts_with("config.json:2:41: quantization_config.quant_method: \"aqlm\" is not"));
  CHECK(refusal(R"({"quant_method": "awq", "bits": 3})")
            .ends_with("3-bit integers are not represented"));
  CHECK(refusal(R"j({"quant_method": "compressed-tensors", "ignore": ["re:(?!x)"]})j")
            .ends_with("the expression \"re:(?!x)\" is not understood"));
}

TEST_CASE("expressions of ignore lists match as Python's re.match does") {
  const auto matches = [](const char* expression, const char* text) {
    const auto regex = NameRegex::compile(expression);
    REQUIRE(regex);
    return regex->matches_prefix(text);
  };
  CHECK(matches(".*self_attn.*", "layers.0.self_attn.q_proj"));
  CHECK_FALSE(matches("self_attn", "layers.0.self_attn"));
  CHECK(matches("layers\\.(0|1[0-9])\\.", "layers.17.mlp"));
  CHECK_FALSE(matches("layers\\.(0|1[0-9])\\.", "layers.7.mlp"));
  CHECK(matches("^a+b?c*$", "aaacc"));
  CHECK_FALSE(matches("a+b?c*$", "aaaccd"));
  CHECK(matches("[^.]+\\.mlp", "layer.mlp"));
  CHECK(matches("x|lm_head$", "lm_head"));
  CHECK(matches("(?:ab)*c", "ababc"));
  for (const char* bad : {"(", "a)", "[a", "a{2}", "(?=a)", "*", "\\1", "a**b("})
    CHECK_FALSE(NameRegex::compile(bad));
}

TEST_CASE("expressions that make backtracking matchers explode end at once") {
  const auto regex = NameRegex::compile("(a*)*(a*)*(a|a)*b");
  REQUIRE(regex);
  CHECK_FALSE(regex->matches_prefix(std::string(2000, 'a')));
}

TEST_CASE("names stand for what lies below them, wherever the model keeps its layers") {
  ModuleSet set;
  CHECK(set.add("model.language_model.layers.1.mlp"));
  CHECK(set.add("gate"));
  CHECK(set.add("language_model.model.layers.0*"));
  CHECK(set.contains("layers.1.mlp.up_proj"));
  CHECK_FALSE(set.contains("layers.11.mlp.up_proj"));
  CHECK(set.contains("layers.5.block_sparse_moe.gate"));
  CHECK_FALSE(set.contains("layers.5.mlp.gate_proj"));
  CHECK(set.contains("layers.0.self_attn.q_proj"));
}

TEST_CASE("patterns and groups are limited, plain names are not") {
  const auto message = [](const std::string& quantization) -> std::string {
    try {
      formats_of(quantization);
    } catch (const SpecError& error) {
      return error.what();
    }
    return "no error";
  };
  const auto excluded = [](int n, const std::string& entry) {
    std::string out = "{\"quant_method\": \"fp8\", \"modules_to_not_convert\": [\"a\"";
    for (int i = 0; i < n; ++i) out += ", \"" + entry + std::to_string(i) + "\"";
    return out + "]}";
  };
  CHECK(message(excluded(20000, "model.layers.0.x")) == "no error");
  // Anchored patterns, which fail at the first character.
  CHECK(message(excluded(1024, "re:x")) == "no error");
  CHECK(message(excluded(1025, "re:x")).ends_with("expected at most 1024 patterns, got more"));
  std::string groups = "{\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"g\": {}";
  for (int i = 0; i < 256; ++i) groups += ", \"g" + std::to_string(i) + "\": {}";
  CHECK(message(groups + "}}").ends_with("config_groups: expected at most 256 groups, got 257"));
}
