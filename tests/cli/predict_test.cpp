#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "tests/cli/cli_runner.hpp"
#include "tests/relative.hpp"

using namespace roofcast;
using namespace roofcast::test;
using nlohmann::json;

namespace {

const std::string kPredict = "predict --model llama-3.1-8b --hardware h100-sxm ";

std::set<std::string> keys_of(const json& object) {
  std::set<std::string> keys;
  for (const auto& item : object.items()) keys.insert(item.key());
  return keys;
}

/// No null, and with that no NaN and no infinity, anywhere.
bool all_finite(const json& value) {
  if (value.is_null()) return false;
  if (value.is_number()) return std::isfinite(value.get<double>());
  if (value.is_structured())
    for (const auto& item : value)
      if (!all_finite(item)) return false;
  return true;
}

}  // namespace

TEST_CASE("predict's JSON has every key that scripts rely on, and finite numbers only") {
  const json answer = run_json(kPredict + "--batch 8 --context 4096 --output-tokens 100");
  CHECK(answer["schema"] == 1);
  CHECK(answer["model"] == "llama-3.1-8b");
  CHECK(answer["hardware"] == "h100-sxm");
  CHECK(answer["engine"] == "reference");
  CHECK(answer["workload"]["batch"] == 8);
  CHECK(answer["workload"]["context"] == 4096);
  CHECK(answer["workload"]["output_tokens"] == 100);
  CHECK(answer["workload"]["tp"] == 1);
  for (const char* key : {"tpot_s", "tpot_low_s", "tpot_high_s", "tokens_per_second",
                          "tokens_per_second_per_user", "bound", "shares", "bytes", "flops"})
    CHECK(answer["decode"].contains(key));
  CHECK(keys_of(answer["decode"]["shares"]) ==
        std::set<std::string>{"weights", "kv", "state", "activations", "compute", "communication",
                              "launch", "host"});
  CHECK(keys_of(answer["decode"]["bytes"]) == std::set<std::string>{"weights", "kv_read",
                                                                    "kv_write", "state",
                                                                    "activations", "collective"});
  for (const char* key : {"ttft_s", "ttft_low_s", "ttft_high_s"})
    CHECK(answer["prefill"].contains(key));
  CHECK(answer["provenance"].size() > 5);
  for (const json& row : answer["provenance"])
    CHECK_FALSE(row["source"].get<std::string>().empty());
  CHECK(all_finite(answer));
}

TEST_CASE("figures of one answer agree with each other") {
  const json decode = run_json(kPredict + "--batch 8")["decode"];
  const double tpot = decode["tpot_s"];
  CHECK(decode["tpot_low_s"] < tpot);
  CHECK(decode["tpot_high_s"] > tpot);
  CHECK(decode["tokens_per_second"].get<double>() == relative(8.0 / tpot));
  CHECK(decode["tokens_per_second_per_user"].get<double>() == relative(1.0 / tpot));
  double sum = 0.0;
  double largest = 0.0;
  for (const auto& share : decode["shares"]) {
    sum += share.get<double>();
    largest = std::max(largest, share.get<double>());
  }
  CHECK(sum == relative(1.0));
  CHECK(decode["shares"][decode["bound"].get<std::string>()].get<double>() == largest);
}

TEST_CASE("bytes of a step are those of a calculation by hand") {
  // Llama 3.1 8B in bf16, batch 2 at context 4096. KV read: 2 sequences x 4096 tokens x 131072 B;
  // written: 2 x 131072 B. Weights: 2 B x (8,030,261,248 parameters - the table of 128256 x 4096)
  // + two rows of the table.
  const json bytes = run_json(kPredict + "--batch 2 --context 4096")["decode"]["bytes"];
  CHECK(bytes["kv_read"] == 2.0 * 4096 * 131072);
  CHECK(bytes["kv_write"] == 2.0 * 131072);
  CHECK(bytes["weights"] == 2.0 * (8030261248.0 - 128256.0 * 4096) + 2.0 * 4096 * 2);
}

TEST_CASE("the ideal engine takes bytes over peak bandwidth where memory binds") {
  const json decode = run_json(kPredict + "--engine ideal")["decode"];
  const json& bytes = decode["bytes"];
  const double all = bytes["weights"].get<double>() + bytes["kv_read"].get<double>() +
                     bytes["kv_write"].get<double>() + bytes["activations"].get<double>();
  CHECK(decode["tpot_s"].get<double>() == relative(all / 3.35e12).epsilon(0.001));
}

TEST_CASE("--set overrides any field and is named in the provenance") {
  const json usual = run_json(kPredict);
  const json faster = run_json(kPredict + "--set hardware.memory.0.bandwidth.value=33.5TB/s");
  CHECK(faster["decode"]["tpot_s"] < usual["decode"]["tpot_s"]);
  bool named = false;
  for (const json& row : faster["provenance"])
    named = named ||
            (row["input"] == "hardware.memory.0.bandwidth.value" && row["value"] == "33.5TB/s");
  CHECK(named);
  const json half = run_json(kPredict + "--set model.layers.0.count=16");
  CHECK(half["decode"]["bytes"]["kv_read"].get<double>() * 2.0 ==
        usual["decode"]["bytes"]["kv_read"].get<double>());
  const json host = run_json(kPredict + "--set engine.host_per_step=50ms");
  CHECK(host["decode"]["bound"] == "host");
}

TEST_CASE("formats change the bytes that they store, and only those") {
  const json usual = run_json(kPredict)["decode"]["bytes"];
  const json kv = run_json(kPredict + "--kv-format fp8")["decode"]["bytes"];
  CHECK(kv["kv_read"].get<double>() * 2.0 == usual["kv_read"].get<double>());
  CHECK(kv["weights"] == usual["weights"]);
  // K at 8 of 16 bits and V at 16: three quarters.
  const json mixed = run_json(kPredict + "--kv-format fp8/bf16")["decode"]["bytes"];
  CHECK(mixed["kv_read"].get<double>() == 0.75 * usual["kv_read"].get<double>());
  // The lm_head (128256 x 4096), norms and the one table row stay in 16 bits.
  const json weights = run_json(kPredict + "--weight-format fp8")["decode"]["bytes"];
  const double rest = 2.0 * (128256.0 * 4096 + 65.0 * 4096 + 4096);
  CHECK(weights["weights"].get<double>() ==
        relative(rest + (usual["weights"].get<double>() - rest) / 2.0));
}

TEST_CASE("a context above the model's maximum and a model that does not fit are warned about") {
  const CliResult fine = run_cli(kPredict + "--context 128Ki");
  CHECK(fine.err.empty());
  const CliResult above = run_cli(kPredict + "--context 131073");
  CHECK(above.code == 0);
  CHECK(above.err ==
        "roofcast: warning: 131073 tokens of context and output are above the 131072 that "
        "llama-3.1-8b allows\n");
  CHECK_FALSE(above.out.empty());
  const CliResult large = run_cli("predict --model llama-3.1-70b --hardware rtx-4090");
  CHECK(large.code == 0);
  CHECK(large.err.find("roofcast: warning: does not fit: ") == 0);
  const json answer = run_json("predict --model llama-3.1-70b --hardware rtx-4090");
  CHECK(answer["memory"]["fits"] == false);
  CHECK(answer["warnings"].size() == 1);
}

TEST_CASE("a machine and a model can be files, and import's YAML predicts like its source") {
  const TemporaryFolder folder;
  const std::string config =
      folder.file("config.json",
                  R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
                     "num_attention_heads": 32, "num_key_value_heads": 8,
                     "intermediate_size": 14336, "vocab_size": 128256,
                     "max_position_embeddings": 131072, "torch_dtype": "bfloat16"})");
  const std::string yaml = folder.file("model.yaml");
  CHECK(run_cli("import " + config + " --output " + yaml).code == 0);
  const json catalogue = run_json(kPredict)["decode"];
  CHECK(run_json("predict --hardware h100-sxm --model " + config)["decode"] == catalogue);
  CHECK(run_json("predict --hardware h100-sxm --model " + yaml)["decode"] == catalogue);
  CHECK(run_json("predict --hardware h100-sxm --model " + folder.file(""))["decode"] == catalogue);
  const json set =
      run_json("predict --hardware h100-sxm --set model.layers.0.count=16 --model " + config);
  CHECK(set["decode"]["tpot_s"] < catalogue["tpot_s"]);
}

TEST_CASE("predict as CSV is a head and one row of as many fields") {
  const std::vector<std::string> lines = lines_of(run_cli(kPredict + "--format csv").out);
  REQUIRE(lines.size() == 2);
  CHECK(fields_of(lines[0]).size() > 30);
  CHECK(lines[0].find(",decode.tpot_s,") != std::string::npos);
}

TEST_CASE("predict as a table reads well") {
  const std::string out = run_cli(kPredict).out;
  for (const char* text : {"model     llama-3.1-8b", "\nDecode\n", "TPOT", " tok/s", "bound by",
                           "\nWhere the time goes\n", "####", "TTFT", "capacity"})
    CHECK(out.find(text) != std::string::npos);
  CHECK(out.find('\x1b') == std::string::npos);
  CHECK(run_cli(kPredict + "--format md").out.find("| TPOT |") != std::string::npos);
}
