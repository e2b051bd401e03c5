#include <doctest/doctest.h>

#include "tests/cli/cli_runner.hpp"

using namespace roofcast;
using namespace roofcast::test;
using nlohmann::json;

namespace {

/// A model of 0.3 M parameters: what is tested is the command, not the measurement.
std::string tiny_model(const TemporaryFolder& folder) {
  return folder.file("tiny.yaml",
                     "schema: 1\nname: tiny\nhidden_dim: 128\nvocab_size: 512\n"
                     "attention:\n  gqa: {kind: gqa, n_heads: 4, n_kv_heads: 2, head_dim: 32}\n"
                     "ffn:\n  dense: {kind: dense, ffn_dim: 256}\n"
                     "layers:\n  - {count: 2, attention: gqa, ffn: dense}\n");
}

/// A calibration of no machine, so that only --force takes it.
std::string calibration_of_another(const TemporaryFolder& folder) {
  return folder.file("cpu.yaml",
                     "schema: 1\ncalibration: cpu\nmachine: epyc-9654\n"
                     "provenance: {device: \"Another CPU\", date: \"2026-11-01\", threads: 1}\n"
                     "primitives:\n  read: {bandwidth: 20 GB/s, t0: 1 us, low: 0.9, high: 1.1}\n"
                     "reference: {read: 20 GB/s, dot: 100 GFLOP/s}\n");
}

}  // namespace

TEST_CASE("validate measures steps and operators beside their predictions") {
  const TemporaryFolder folder;
  const std::string line = "validate --model " + tiny_model(folder) + " --hardware " +
                           calibration_of_another(folder) +
                           " --force --batches 1,2 --contexts 16 --threads 1";
  const json answer = run_json(line);
  CHECK(answer["schema"] == 1);
  std::size_t steps = 0;
  for (const json& point : answer["points"]) {
    for (const char* key : {"measured_s", "predicted_s", "low_s", "high_s", "error"})
      CHECK(point[key].is_number());
    CHECK(point["measured_s"].get<double>() > 0.0);
    steps += point["operator"] == "step" ? 1 : 0;
  }
  CHECK(steps == 2);
  CHECK(answer["points"].size() > 2 * 10);
  for (const char* key : {"n", "median_abs_error", "p90_abs_error", "bias", "coverage80"})
    CHECK(answer["summary"]["all"][key].is_number());
  CHECK(answer["summary"]["all"]["n"] == 2);
  CHECK(answer["summary"]["by_kind"]["gqa"]["n"] == 2);
  CHECK(answer["summary"]["by_format"]["bf16"]["n"] == 2);
  CHECK(answer["drift"]["calibrated"] == 20e9);
  CHECK(answer["verdict"].is_string());
}

TEST_CASE("validate measures caches in bytes and in pages, and says so") {
  const TemporaryFolder folder;
  const std::string line = "validate --model " + tiny_model(folder) + " --hardware " +
                           calibration_of_another(folder) +
                           " --force --batches 1 --contexts 64 --threads 1 ";
  const json answer = run_json(line + "--kv-format int8/fp8 --kv-page-tokens 16");
  CHECK(answer["points"][0]["case"] ==
        "tiny (KV int8, v fp8_e4m3) (pages of 16) batch 1 context 64");
  CHECK(answer["summary"]["by_format"]["bf16, KV int8, v fp8_e4m3"]["n"] == 1);
  CHECK(run_cli(line + "--kv-page-tokens 24").err ==
        "roofcast: --kv-page-tokens: expected a multiple of 16, got 24\n");
  const CliResult other = run_cli(line + "--kv-format q8_0");
  CHECK(other.code == 3);
  CHECK(other.err.find("no kernel for k in q8_0 (bf16, fp8_e4m3 or int8)") != std::string::npos);
}

TEST_CASE(
    "validate measures other weight formats, and refuses those that the engine cannot store") {
  const TemporaryFolder folder;
  const std::string line = "validate --model " + tiny_model(folder) + " --hardware " +
                           calibration_of_another(folder) +
                           " --force --batches 1 --contexts 16 --threads 1 --weight-format ";
  CHECK(run_json(line + "q8_0")["summary"]["by_format"]["q8_0"]["n"] == 1);
  CHECK(run_json(line + "int4 --set model.formats.embedding=q4_0 --set model.formats.lm_head=q4_0")
            ["summary"]["by_format"]["int4_g128"]["n"] == 1);
  const CliResult refused = run_cli(line + "q4_K");
  CHECK(refused.code == 3);
  CHECK(refused.err.find("attention in q4_K (bf16, fp32,") != std::string::npos);
}

TEST_CASE("a stated error that nothing meets ends in an exit code") {
  const TemporaryFolder folder;
  const CliResult result = run_cli("validate --model " + tiny_model(folder) + " --hardware " +
                                   calibration_of_another(folder) +
                                   " --force --batches 1 --contexts 16 --threads 1 --layers 1 "
                                   "--max-error 0");
  // 4 when the machine was too noisy to say so.
  CHECK((result.code == kExitNo || result.code == kExitIo));
  CHECK(result.out.find("tiny (1 layers) batch 1 context 16") != std::string::npos);
}

TEST_CASE("a calibration of another machine or of none is refused") {
  const TemporaryFolder folder;
  const std::string model = tiny_model(folder);
  const CliResult other =
      run_cli("validate --model " + model + " --hardware " + calibration_of_another(folder));
  CHECK(other.code == 3);
  CHECK(other.err.find("got one of \"Another CPU\"; --force takes it") != std::string::npos);
  const CliResult none = run_cli("validate --model " + model + " --hardware epyc-9654");
  CHECK(none.code == 3);
  CHECK(none.err.find("roofcast: epyc-9654: holds no calibration") == 0);
}

TEST_CASE("what the validation cases cannot take is refused before the measuring") {
  const TemporaryFolder folder;
  const std::string hardware = " --hardware " + calibration_of_another(folder) + " --force";
  const CliResult unknown = run_cli("validate --cases gqa,mqq" + hardware);
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("got \"mqq\", did you mean \"mqa\"") != std::string::npos);
  CHECK(run_cli("validate --grid --model " + tiny_model(folder) + hardware).code == 2);
  CHECK(run_cli("validate --batches 4" + hardware).code == 2);
  CHECK(run_cli("validate --cases gqa --max-p90 x" + hardware).code == 2);
}

TEST_CASE("a case beyond the memory is refused with the numbers before anything is measured") {
  const TemporaryFolder folder;
  // Weights: 2 layers of 2 x 128 x 128 + 2 x 64 x 128 + 3 x 256 x 128 + 2 x 128, two tables of
  // 512 x 128 and a norm of 128, in bf16: 853,248 B. Cache: 64 sequences x (2^24 + 1) tokens x
  // 2 layers x K and V of 2 x 32 in bf16: 550 GB.
  const CliResult result =
      run_cli("validate --model " + tiny_model(folder) + " --hardware " +
              calibration_of_another(folder) + " --force --batches 64 --contexts 16Mi");
  CHECK(result.code == 4);
  CHECK(result.out.empty());
  CHECK(result.err.find("tiny needs 0.000853 GB of weights and 550 GB of cache, and") !=
        std::string::npos);
}

TEST_CASE("what cannot be measured is refused before the measuring") {
  CHECK(run_cli("calibrate --device cpu").err ==
        "roofcast: --output: missing, required: the file that receives the calibration\n");
  CHECK(run_cli("calibrate --device tpu --output x.yaml").code == 2);
  CHECK(run_cli("calibrate --output /nonexistent/x.yaml").code == 4);
  CHECK(run_cli("validate --model llama-3.1-8b --hardware epyc-9654 --batches 65").code == 2);
}
