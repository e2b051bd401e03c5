#include "model/architecture/hf_config.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/relative.hpp"

namespace {

using namespace roofcast;
using roofcast::test::relative;

constexpr double kMiB = 1024.0 * 1024.0;

ImportedModel import_text(const std::string& text) {
  return import_hf_config(parse_json(text, "config.json"));
}

Document fixture_document(const std::string& name) {
  const std::string path = std::string(ROOFCAST_SOURCE_DIR) + "/tests/specs/hf/" + name + ".json";
  return parse_json(read_text_file(path), name + ".json");
}

ImportedModel fixture(const std::string& name) { return import_hf_config(fixture_document(name)); }

struct Counted {
  const char* name;
  double total;  // with resident parts
};

// Elements of the published safetensors files (model pages on huggingface.co), MTP blocks apart.
constexpr Counted kCounted[] = {
    {"command-r-35b", 34980831232},  {"deepseek-v2-lite", 15706484224},
    {"falcon-7b", 6921720704},       {"gemma-2-9b", 9241705984},
    {"gemma-3-1b", 999885952},       {"gemma-3-27b", 27432406640},
    {"gpt-oss-20b", 20914757184},    {"gpt2", 124439808},
    {"lfm2-1.2b", 1170340608},       {"llama-3.2-1b", 1235814400},
    {"mistral-7b-v0.1", 7241732096}, {"olmo-2-7b", 7298617344},
    {"opt-6.7b", 6658473984},        {"phi-2", 2779683840},
    {"phi-3.5-moe", 41873153344},    {"qwen1.5-moe-a2.7b", 14315784192},
    {"qwen2.5-0.5b", 494032768},     {"starcoder2-3b", 3030371328},
};

/// Every key that the report has to name: those that hold a value, and maps that it names whole.
void collect_keys(const Value& map, const std::string& path, const std::set<std::string>& whole,
                  std::multiset<std::string>& out) {
  for (const auto& [key, value] : map.members) {
    const std::string dotted = path.empty() ? key : path + "." + key;
    if (value.is_map() && !whole.contains(dotted))
      collect_keys(value, dotted, whole, out);
    else
      out.insert(dotted);
  }
}

std::string message_of(const std::string& text) {
  try {
    import_text(text);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "no error";
}

std::string llama_with(const std::string& key, const std::string& value) {
  const std::pair<std::string, std::string> keys[] = {
      {"model_type", "\"llama\""},   {"hidden_size", "4096"},        {"num_hidden_layers", "32"},
      {"num_attention_heads", "32"}, {"intermediate_size", "11008"}, {"vocab_size", "32000"}};
  std::string text = "{";
  bool found = false;
  for (const auto& [name, plain] : keys) {
    const bool here = name == key;
    found = found || here;
    if (here && value.empty()) continue;
    text += (text.size() > 1 ? ",\n\"" : "\"") + name + "\": " + (here ? value : plain);
  }
  if (!found) text += ",\n\"" + key + "\": " + value;
  return text + "}";
}

}  // namespace

TEST_CASE("imported parameter counts are those of the published files") {
  for (const Counted& row : kCounted) {
    CAPTURE(row.name);
    const ParameterCount count = count_parameters(fixture(row.name).spec);
    CHECK(count.total + count.resident == relative(row.total).epsilon(1e-3));
  }
}

TEST_CASE("a MoE with an MTP block counts it apart and keeps it resident") {
  // 110,468,824,832 elements in the files of GLM-4.5-Air; its MTP block also repeats the embedding
  // and the head, 2 x 151552 x 4096.
  const ImportedModel model = fixture("glm-4.5-air");
  const ParameterCount count = count_parameters(model.spec);
  CHECK(model.spec.mtp_layers == 1);
  CHECK(count.total + count.mtp + 2.0 * 151552 * 4096 == relative(110468824832.0).epsilon(1e-3));
}

TEST_CASE("Gemma 3 27B keeps 10.41 GiB at 131072 tokens, from defaults its config leaves out") {
  // (10 global layers x 131072 + 52 local x 1024) x 2 x 16 heads x 128 x 2 B
  const ImportedModel model = fixture("gemma-3-27b");
  CHECK(cache_bytes(model.spec, 131072).kv.value == relative((10.0 * 131072 + 52.0 * 1024) * 8192));
}

TEST_CASE("Gemma 3 1B keeps 139 MiB at 32768 tokens") {
  // (4 global layers x 32768 + 22 local x 512) x 2 x 1 head x 256 x 2 B
  CHECK(cache_bytes(fixture("gemma-3-1b").spec, 32768).kv.value / kMiB == relative(139.0));
}

TEST_CASE("gpt-oss-20b keeps 3 GiB and twelve windows at 131072 tokens") {
  // 12 full layers x 2048 B x 131072 + 12 windows of 128 tokens
  CHECK(cache_bytes(fixture("gpt-oss-20b").spec, 131072).kv.value ==
        relative(12.0 * 2048 * (131072 + 128)));
}

TEST_CASE("LFM2-1.2B has six attention layers: 384 MiB at 32768 tokens") {
  CHECK(cache_bytes(fixture("lfm2-1.2b").spec, 32768).kv.value / kMiB == relative(384.0));
}

TEST_CASE("a sliding window counts when it is used and only then") {
  // Mistral 7B v0.1: 32 layers x 2 x 8 x 128 x 2 B x min(context, 4096) = 512 MiB
  CHECK(cache_bytes(fixture("mistral-7b-v0.1").spec, 32768).kv.value / kMiB == relative(512.0));
  // Qwen2.5 names a window and does not use it: 24 layers x 2 x 2 x 64 x 2 B x 65536
  CHECK(cache_bytes(fixture("qwen2.5-0.5b").spec, 65536).kv.value / kMiB == relative(768.0));
}

TEST_CASE("a declared head_dim wins over the derived one, with a warning") {
  const ImportedModel model = import_text(llama_with("head_dim", "160"));
  CHECK(std::get<GroupedQueryAttention>(model.spec.mixers[0].kind).shape.head_dim == 160);
  REQUIRE(model.warnings.size() == 1);
  CHECK(model.warnings[0] == "head_dim is 160 as declared; hidden size / heads would be 128");
}

TEST_CASE("every key of a config is reported exactly once") {
  const std::set<std::string> whole = {"rope_scaling", "vision_config", "text_config.rope_scaling"};
  for (const char* name : {"gemma-3-27b", "gpt-oss-20b", "deepseek-v2-lite", "lfm2-1.2b",
                           "phi-3.5-moe", "falcon-7b"}) {
    CAPTURE(name);
    const Document config = fixture_document(name);
    std::multiset<std::string> expected;
    collect_keys(config.root, "", whole, expected);
    std::multiset<std::string> reported;
    for (const ImportField& field : import_hf_config(config).fields) reported.insert(field.key);
    for (const std::string& key : expected) {
      CAPTURE(key);
      CHECK(reported.count(key) == 1);
    }
    CHECK(std::set<std::string>(reported.begin(), reported.end()).size() == reported.size());
  }
}

TEST_CASE("an unknown key is ignored aloud") {
  const ImportedModel model = import_text(llama_with("flux_capacitors", "3"));
  REQUIRE(model.warnings.size() == 1);
  CHECK(model.warnings[0] == "flux_capacitors = 3 is not a known key and was ignored");
}

TEST_CASE("a misspelt optional key is refused where its default would stand in silently") {
  CHECK(message_of(llama_with("num_key_value_head", "8")) ==
        "config.json:7:23: num_key_value_head: unknown key, did you mean \"num_key_value_heads\"?");
  CHECK(message_of(llama_with("Tie_word_embeddings", "true"))
            .ends_with("unknown key, did you mean \"tie_word_embeddings\"?"));
  // Farther away, it may be a key of its own: a warning with the nearest name.
  const ImportedModel far = import_text(llama_with("nun_kev_value_head", "8"));
  REQUIRE(far.warnings.size() == 1);
  CHECK(far.warnings[0] ==
        "nun_kev_value_head = 8 is not a known key and was ignored, did you mean "
        "\"num_key_value_heads\"?");
  // A key that is there cannot be the one that was meant.
  const ImportedModel beside = import_text(llama_with("hidden_sizes", "8"));
  REQUIRE(beside.warnings.size() == 1);
  CHECK(beside.warnings[0].ends_with("was ignored, did you mean \"hidden_size\"?"));
}

TEST_CASE("a file of unknown keys is refused before each is compared with all names") {
  std::string text = llama_with("x", "1");
  text.pop_back();
  for (int i = 0; i < 300; ++i) text += ", \"q" + std::to_string(i) + "\": 1";
  CHECK(message_of(text + "}").ends_with("expected at most 256 unknown keys, got more"));
}

TEST_CASE("NaN and Infinity are refused in a key that is read, and let be in others") {
  CHECK(
      message_of(llama_with("num_key_value_heads", "NaN")) ==
      "config.json:7:24: num_key_value_heads: expected a whole number from 1 to 1048576, got NaN");
  CHECK(message_of(llama_with("tie_word_embeddings", "Infinity")) ==
        "config.json:7:24: tie_word_embeddings: expected true or false, got Infinity");
  CHECK(message_of(llama_with("torch_dtype", "-Infinity")).ends_with("got -Infinity"));
  CHECK(message_of(llama_with("initializer_range", "NaN")) == "no error");
}

TEST_CASE("more heads than elements of the hidden size are refused") {
  CHECK(message_of(llama_with("hidden_size", "16"))
            .ends_with("num_attention_heads: expected at most the hidden size, 16, got 32"));
}

TEST_CASE("layers that a config names by index have to exist") {
  const std::string head =
      "{\"hidden_size\": 64, \"num_hidden_layers\": 4, \"num_attention_heads\": 8,"
      "\"moe_intermediate_size\": 64, \"num_experts_per_tok\": 2, \"vocab_size\": 100,"
      "\"intermediate_size\": 64,\n";
  const std::string qwen = "\"model_type\": \"qwen3_moe\", \"num_experts\": 4}";
  CHECK(message_of(head + "\"mlp_only_layers\": [3]," + qwen) == "no error");
  CHECK(message_of(head + "\"mlp_only_layers\": [4]," + qwen)
            .ends_with("expected a whole number from 0 to 3, got \"4\""));
  const std::string deepseek =
      "\"model_type\": \"deepseek_v3\", \"n_routed_experts\": 4, \"kv_lora_rank\": 8,"
      "\"qk_nope_head_dim\": 8, \"qk_rope_head_dim\": 8, \"v_head_dim\": 8}";
  CHECK(message_of(head + "\"first_k_dense_replace\": 4," + deepseek) == "no error");
  CHECK(message_of(head + "\"first_k_dense_replace\": 5," + deepseek) ==
        "config.json:2:26: first_k_dense_replace: expected a whole number from 0 to 4, got \"5\"");
}

TEST_CASE("bad configs are refused with file, line, column and key") {
  const auto starts = [](const std::string& text, const std::string& with) {
    const std::string message = message_of(text);
    CAPTURE(message);
    CHECK(message.starts_with(with));
  };
  starts(llama_with("hidden_size", ""), "config.json:1:1: hidden_size: missing");
  starts(llama_with("hidden_size", "\"4096\""), "config.json:2:16: hidden_size: expected a whole");
  starts(llama_with("hidden_size", "-1"), "config.json:2:16: hidden_size: expected a whole number");
  starts(llama_with("num_hidden_layers", "1e9"),
         "config.json:3:22: num_hidden_layers: expected a whole number from 1 to 4096");
  starts(llama_with("num_attention_heads", "33"), "config.json:1:1: head_dim: missing, and 33");
  starts(llama_with("num_key_value_heads", "5"),
         "config.json:7:24: num_key_value_heads: expected a divisor of the 32 query heads");
  starts(llama_with("text_config", "[1]"), "config.json:7:16: text_config: expected a map");
  starts(llama_with("text_config", "{}"), "config.json:7:16: text_config.hidden_size: missing");
  starts(llama_with("is_encoder_decoder", "true"),
         "config.json:7:23: is_encoder_decoder: encoder-decoder models are not represented");
  starts(llama_with("cross_attention_layers", "[3, 8]"),
         "config.json:7:27: cross_attention_layers: cross-attention is not represented");
  starts(llama_with("torch_dtype", "\"float13\""), "config.json:7:16: torch_dtype: expected a");
  starts(
      "{\"model_type\": \"lama\"}",
      "config.json:1:16: model_type: \"lama\" is not a known model kind, did you mean \"llama\"");
  starts("{\"model_type\": 3.5, \"hidden_size\": 1}",
         "config.json:1:16: model_type: \"3.5\" is not");
  starts("{\"hidden_size\": 1}", "config.json:1:1: model_type: missing");
  starts("[1, 2]", "config.json:1:1: expected a map, got a list");
}

TEST_CASE("layer_types must name a known kind once per layer") {
  const std::string head =
      "{\"model_type\": \"gpt_oss\", \"hidden_size\": 64, \"num_hidden_layers\": 2,"
      "\"num_attention_heads\": 8, \"num_key_value_heads\": 8, \"num_local_experts\": 4,"
      "\"num_experts_per_tok\": 2, \"intermediate_size\": 64, \"vocab_size\": 100,\n";
  const std::string tail = "}";
  CHECK(
      message_of(head + "\"layer_types\": [\"full_attention\"]" + tail)
          .starts_with("config.json:2:16: layer_types: expected 2 entries, one per layer, got 1"));
  CHECK(message_of(head + "\"layer_types\": [\"full_attention\", \"full_attentoin\"]" + tail)
            .ends_with("got \"full_attentoin\", did you mean \"full_attention\"?"));
  CHECK(message_of(head + "\"layer_types\": [\"full_attention\", \"sliding_attention\"]" + tail) ==
        "no error");
}

TEST_CASE("an unknown kind is an UnsupportedError, so that callers can tell it apart") {
  CHECK_THROWS_AS(import_text("{\"model_type\": \"whisper\"}"), UnsupportedError);
  CHECK_THROWS_AS(import_text("{\"model_type\": \"gemma3n\", \"text_config\": {}}"),
                  UnsupportedError);
}
