#include <doctest/doctest.h>

#include <set>

#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/catalogue.hpp"
#include "tests/cli/cli_runner.hpp"

using namespace roofcast;
using namespace roofcast::test;
using nlohmann::json;

TEST_CASE("list names everything that the program ships") {
  const json answer = run_json("list");
  CHECK(answer["schema"] == 1);
  for (const char* key : {"architectures", "hardware", "engines", "formats", "attention_kinds"}) {
    CAPTURE(key);
    REQUIRE(answer[key].is_array());
    CHECK_FALSE(answer[key].empty());
    for (const json& row : answer[key]) CHECK_FALSE(row["name"].get<std::string>().empty());
  }
  const auto names = [&](const char* key) {
    std::set<std::string> set;
    for (const json& row : answer[key]) set.insert(row["name"].get<std::string>());
    return set;
  };
  for (const char* name : {"h100-sxm", "h100-pcie", "a100-sxm-80gb", "a40", "rtx-4090"})
    CHECK(names("hardware").contains(name));
  for (const char* name : {"ideal", "reference"}) CHECK(names("engines").contains(name));
  for (const char* name : {"gqa", "mla", "sliding_window"})
    CHECK(names("attention_kinds").contains(name));
  CHECK(names("formats").contains("mxfp4"));
  CHECK(names("architectures").size() >= 36);
  CHECK(names("hardware").size() >= 48);
}

TEST_CASE("one list at a time, in every format") {
  CHECK(run_json("list engines").size() == 2);  // schema and engines
  const auto csv = lines_of(run_cli("list formats --format csv").out);
  CHECK(csv[0] == "name,bits_per_element,compute,layout");
  CHECK(run_cli("list engines --format md").out.find("| ideal |") != std::string::npos);
  CHECK(run_cli("list machines").code == 2);
  CHECK(run_cli("list --format csv").code == 2);
}

TEST_CASE("import accounts for every key and gives the totals") {
  const TemporaryFolder folder;
  const std::string config =
      folder.file("config.json",
                  R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
                     "num_attention_heads": 32, "num_key_value_heads": 8,
                     "intermediate_size": 14336, "vocab_size": 128256, "bos_token_id": 1,
                     "max_position_embeddings": 131072, "torch_dtype": "bfloat16"})");
  const json answer = run_json("import " + config);
  CHECK(answer["schema"] == 1);
  CHECK_FALSE(answer["name"].get<std::string>().empty());
  CHECK(answer["parameters"]["total"] == 8030261248.0);
  CHECK(answer["parameters"]["active"] == 8030261248.0 - 128256.0 * 4096);
  CHECK(answer["parameters"]["embedding"] == 128256.0 * 4096);
  CHECK(answer["weight_bytes"]["resident"] == 2.0 * 8030261248.0);
  CHECK(answer["weight_bytes"]["read_per_step_batch1"] ==
        2.0 * (8030261248.0 - 128256.0 * 4096 + 4096));
  CHECK(answer["kv"]["bytes_per_token"] == 131072);
  CHECK(answer["kv"]["fixed_bytes_per_sequence"] == 0);
  CHECK(answer["kv"]["bytes_at_context"]["4096"] == 4096.0 * 131072);
  CHECK(answer["kv"]["bytes_at_context"]["131072"] == 131072.0 * 131072);
  std::set<std::string> statuses;
  std::set<std::string> keys;
  for (const json& field : answer["fields"]) {
    statuses.insert(field["status"].get<std::string>());
    keys.insert(field["key"].get<std::string>());
  }
  for (const std::string& status : statuses)
    CHECK(std::set<std::string>{"read", "derived", "defaulted", "ignored"}.contains(status));
  for (const char* key : {"hidden_size", "num_key_value_heads", "bos_token_id"})
    CHECK(keys.contains(key));
}

TEST_CASE("import writes YAML that reads back to the same spec") {
  const TemporaryFolder folder;
  const std::string yaml =
      folder.file("deepseek.yaml",
                  write_architecture_yaml(read_architecture(find_architecture("deepseek-v3"))));
  const CliResult result = run_cli("import " + yaml + " --format yaml");
  CHECK(result.code == 0);
  CHECK(read_architecture(parse_yaml(result.out, "out")) ==
        read_architecture(find_architecture("deepseek-v3")));
  const CliResult file = run_cli("import " + yaml + " --output " + folder.file("copy.yaml"));
  CHECK(file.out.find("parameters") != std::string::npos);
  CHECK(read_file(folder.file("copy.yaml")) == result.out);
}

TEST_CASE("import and list take overrides") {
  const TemporaryFolder folder;
  const std::string yaml = folder.file(
      "llama.yaml", write_architecture_yaml(read_architecture(find_architecture("llama-3.1-8b"))));
  // Half the layers: 16 x 2 x 8 heads x 128 x 2 B
  const json half = run_json(
      "import " + yaml + R"( --set model.layers=[{"count":16,"attention":"gqa","ffn":"dense"}])");
  CHECK(half["kv"]["bytes_per_token"] == 65536);
  CHECK(half["fields"].back()["key"] == "model.layers");
  CHECK(half["fields"].back()["status"] == "overridden");
  CHECK(run_cli("import " + yaml + " --set hardware.compute_units=1").code == 2);
  CHECK(run_cli("import " + yaml + " --set model.layer=1").code == 3);

  const json machines = run_json("list hardware --set hardware.memory.0.bandwidth=1TB/s");
  for (const json& machine : machines["hardware"]) CHECK(machine["bandwidth"] == 1e12);
  const json models = run_json("list architectures --set model.max_context=77");
  for (const json& model : models["architectures"]) CHECK(model["max_context"] == 77);
  CHECK(run_json("list engines --set engine.title=x")["engines"][0]["title"] == "x");
  CHECK(run_cli("list --set hardwar.x=1").code == 2);
}

TEST_CASE("what import refuses leaves no file") {
  const TemporaryFolder folder;
  const std::string alien = folder.file("config.json", "{\"model_type\": \"telepathy\"}");
  CHECK(run_cli("import " + alien + " --output " + folder.file("x.yaml")).code == 3);
  CHECK(folder.entries() == 1);
  CHECK(run_cli("import").code == 2);
  CHECK(run_cli("import " + alien + " --format xml").code == 2);
}

TEST_CASE("every shared model configuration imports or is refused by name") {
  namespace fs = std::filesystem;
  const fs::path configs = fs::path(ROOFCAST_SHARED_DIR) / "configs";
  if (!fs::exists(configs)) {
    MESSAGE("skipped: no folder ", configs.string());
    return;
  }
  int refused = 0;
  for (const auto& entry : fs::directory_iterator(configs)) {
    const std::string path = entry.path().string();
    if (!path.ends_with("_config.json")) continue;
    CAPTURE(path);
    const CliResult result = run_cli("import " + path + " --format json");
    if (path.ends_with("_hf_quant_config.json")) {
      CHECK(result.code == 3);
      continue;
    }
    refused += result.code != 0 ? 1 : 0;
    if (result.code != 0) MESSAGE(result.err);
  }
  CHECK(refused <= 3);
}

TEST_CASE("a file is imported whatever bytes its name has") {
  const TemporaryFolder folder;
  const std::string path = folder.file(
      "q\xff.json",
      R"({"model_type": "llama", "hidden_size": 256, "num_hidden_layers": 1, "vocab_size": 1000,
          "num_attention_heads": 4, "intermediate_size": 512})");
  for (const char* format : {"yaml", "json", "table"}) {
    const CliResult result = run_cli("import " + path + " --format " + format);
    CHECK(result.code == 0);
    CHECK(result.out.find("q?") != std::string::npos);
  }
  const std::string yaml = folder.file("out\xfe.yaml");
  CHECK(run_cli("import " + path + " --output " + yaml).code == 0);
  CHECK(run_cli("import " + yaml).code == 0);
}
