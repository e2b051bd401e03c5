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
  CHECK(run_json(kPredict + "--set hardware.memory.hbm3.bandwidth=33.5TB/s")["decode"] ==
        faster["decode"]);
  const json half = run_json(kPredict + "--set model.layers.0.count=16");
  CHECK(half["decode"]["bytes"]["kv_read"].get<double>() * 2.0 ==
        usual["decode"]["bytes"]["kv_read"].get<double>());
  const json host = run_json(kPredict + "--set engine.host_per_step=50ms");
  CHECK(host["decode"]["bound"] == "host");
}

TEST_CASE("the source of an overridden value is the command line, once and however it is spelled") {
  for (const char* key :
       {"memory.0.bandwidth", "memory.hbm3.bandwidth", "memory.0.bandwidth.value"}) {
    CAPTURE(key);
    const json rows = run_json(kPredict + "--set hardware." + key + "=33.5TB/s")["provenance"];
    std::size_t found = 0;
    for (const json& row : rows) {
      if (row["input"].get<std::string>().find("hardware.memory.") != 0 ||
          row["input"].get<std::string>().find(".bandwidth") == std::string::npos)
        continue;
      ++found;
      CHECK(row["input"] == "hardware.memory.hbm3.bandwidth");
      CHECK(row["value"] == "33.5 TB/s");
      CHECK(row["source"] == "command line (--set)");
    }
    CHECK(found == 1);
  }
  // What has no row of its own gets one; the last of two counts.
  const json rows = run_json(kPredict +
                             "--set engine.host_per_step=5ms --set engine.host_per_step=7ms "
                             "--set hardware.links.nvlink4.bandwidth=100GB/s")["provenance"];
  std::size_t found = 0;
  for (const json& row : rows) {
    found += row["source"] == "command line (--set)" ? 1 : 0;
    if (row["input"] == "engine.host_per_step") CHECK(row["value"] == "7ms");
  }
  CHECK(found == 2);
}

TEST_CASE("a value that --set makes wrong is blamed on the option") {
  CHECK(run_cli(kPredict + "--set model.hidden_dim=many").err ==
        "roofcast: --set model.hidden_dim: expected a whole number from 1 to 16777216, got "
        "\"many\"\n");
  for (const char* rate : {"1e-300B/s", "3.35mB/s", "999kB/s"}) {
    const CliResult result = run_cli(kPredict + "--set hardware.memory.hbm3.bandwidth=" + rate);
    CHECK(result.code == 3);
    CHECK(result.err.find("roofcast: --set hardware.memory.hbm3.bandwidth: expected a quantity ") ==
          0);
  }
  CHECK(run_cli(kPredict + "--set hardware.calibration.primitives.read.t0=1us").err ==
        "roofcast: --set hardware.calibration.primitives.read.t0: h100-sxm has no calibration\n");
}

namespace {

/// A calibration of reads and GEMM only.
std::string partial_calibration(const TemporaryFolder& folder, const char* name) {
  return folder.file(name,
                     "schema: 1\ncalibration: cpu\nmachine: epyc-9654\n"
                     "provenance: {device: \"EPYC\", date: \"2026-11-01\", threads: 1}\n"
                     "primitives:\n  read: {bandwidth: 200 GB/s, low: 0.9, high: 1.1}\n"
                     "  gemm_bf16: {bandwidth: 190 GB/s, low: 0.9, high: 1.1}\n"
                     "  elementwise: {bandwidth: 150 GB/s, low: 0.9, high: 1.1}\n");
}

}  // namespace

TEST_CASE("--set reaches into a calibration, without which nothing else of it changes") {
  const TemporaryFolder folder;
  const std::string line =
      "predict --model llama-3.1-8b --hardware " + partial_calibration(folder, "cpu.yaml");
  const json usual = run_json(line);
  const json slower =
      run_json(line + " --set hardware.calibration.primitives.gemm_bf16.bandwidth=19GB/s");
  // Weights take nearly all of the step, so that a tenth of their rate takes some ten times.
  const double factor =
      slower["decode"]["tpot_s"].get<double>() / usual["decode"]["tpot_s"].get<double>();
  CHECK(factor > 8.0);
  CHECK(factor < 10.0);
  CHECK(slower["provenance"].dump().find(
            "\"hardware.calibration.primitives.gemm_bf16.bandwidth\"") != std::string::npos);
}

TEST_CASE("a kernel that the calibration lacks is named, and its range is not called measured") {
  const TemporaryFolder folder;
  const std::string line =
      " --model llama-3.1-8b --hardware " + partial_calibration(folder, "cpu.yaml");
  for (const char* command : {"predict", "explain"}) {
    const CliResult result = run_cli(command + line);
    CHECK(result.err ==
          "roofcast: warning: the calibration has no attention_bf16: efficiency and range are "
          "those typical of the machine's generation\n");
    CHECK(result.out.find("residuals of this machine's calibration, but typical of its generation "
                          "for attention_bf16") != std::string::npos);
  }
  // 8-bit weights are another kernel again, and 8-bit caches too.
  CHECK(run_cli("predict" + line + " --weight-format fp8 --kv-format fp8")
            .err.find("has no gemm_fp8, attention_fp8: ") != std::string::npos);
  CHECK(run_cli("predict" + line + " --engine ideal").err.empty());
}

TEST_CASE("one rule says what is a file: its spelling, or that it is there") {
  const TemporaryFolder folder;
  partial_calibration(folder, "cpu.cfg");
  folder.file("e.yml", "schema: 1\nname: e\nsource: s\nceilings: peak\nlaunch: none\n");
  folder.file("e.json", R"({"schema": 1, "name": "e", "source": "s", "ceilings": "peak",)"
                        R"( "launch": "none"})");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.file(""));
  for (const char* engine : {"e.yml", "e.json"})
    CHECK(run_json("predict --model llama-3.1-8b --hardware cpu.cfg --engine " +
                   std::string(engine))["engine"] == "e");
  std::filesystem::current_path(before);
  for (const char* option : {"--model", "--hardware", "--engine"}) {
    const std::string kind(option + 2);
    std::string line = "predict --model llama-3.1-8b --hardware h100-sxm --engine ideal";
    const std::size_t at = line.find(kind) + kind.size() + 1;
    line =
        line.substr(0, at) + "absent.yml" + line.substr(std::min(line.find(' ', at), line.size()));
    CHECK(run_cli(line).err == "roofcast: absent.yml: no such file\n");
  }
}

TEST_CASE("texts from files reach a screen without control characters, and short") {
  const TemporaryFolder folder;
  const std::string text = R"({"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 2,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
      "intermediate_size": 8192, "vocab_size": 128256, "max_position_embeddings": 131072)";
  const std::string esc = folder.file("esc.json", text + R"(, "a\u001b[31mb": 1})");
  const std::string lengthy =
      folder.file("long.json", text + ", \"" + std::string(5000, 'k') + "\": 1}");
  const std::string cut =
      folder.file("cut.json", text + ", \"note\": \"" + std::string(59, 'n') + "\xC3\xA9z\"}");
  CHECK(run_cli("import " + cut).err.find(std::string(59, 'n') + "... is not a known key") !=
        std::string::npos);
  std::string many = text;
  for (int i = 0; i < 50; ++i) many += ", \"key_" + std::to_string(i) + "\": 1";
  many = folder.file("many.json", many + "}");
  const std::string end = " --hardware h100-sxm";
  const std::string import = "import ";
  for (const std::string& line :
       {"predict --model " + esc + end, import + esc, import + esc + " --format md"}) {
    const CliResult result = run_cli(line);
    CHECK(result.code == 0);
    CHECK(result.err.find("a\\x1b[31mb") != std::string::npos);
    CHECK((result.out + result.err).find('\x1b') == std::string::npos);
  }
  for (const std::string& line : lines_of(run_cli("predict --model " + lengthy + end).err))
    CHECK(line.size() < 240);
  const auto warnings = lines_of(run_cli("predict --model " + many + end).err);
  CHECK(warnings.size() == 21);
  CHECK(warnings.back() == "roofcast: warning: ... and 30 more");
}

TEST_CASE("the memory that is left has one key, below zero when it is short") {
  const json memory = run_json("predict --model llama-3.1-70b --hardware rtx-4090")["memory"];
  CHECK_FALSE(memory.contains("margin"));
  CHECK(memory["free"].get<double>() ==
        relative(memory["capacity"].get<double>() - memory["weights"].get<double>() -
                 memory["kv"].get<double>() - memory["state"].get<double>()));
  CHECK(memory["free"].get<double>() < 0.0);
  const std::string out = run_cli("predict --model llama-3.1-70b --hardware rtx-4090").out;
  CHECK(out.find("  short of ") != std::string::npos);
  CHECK(out.find("  short of  -") == std::string::npos);
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
