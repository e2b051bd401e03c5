#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cmath>

#include "tests/cli/cli_runner.hpp"
#include "tests/relative.hpp"

using namespace roofcast;
using namespace roofcast::test;
using nlohmann::json;

namespace {

const std::string kSweep =
    "sweep --model llama-3.1-8b,mixtral-8x7b --hardware h100-sxm,rtx-4090 --engine ideal,reference "
    "--weight-format bf16,fp8 --kv-format bf16,fp8 --tp 1,2 --batch 1,8 --context 0,4Ki,32Ki ";

}  // namespace

TEST_CASE("a sweep lists the whole cross product, the last axis fastest") {
  const json points = run_json(kSweep)["points"];
  REQUIRE(points.size() == 2 * 2 * 2 * 2 * 2 * 2 * 2 * 3);
  std::size_t i = 0;
  for (const char* model : {"llama-3.1-8b", "mixtral-8x7b"})
    for (const char* hardware : {"h100-sxm", "rtx-4090"})
      for (const char* engine : {"ideal", "reference"})
        for (const char* weights : {"bf16", "fp8"})
          for (const char* kv : {"bf16", "fp8"})
            for (const int tp : {1, 2})
              for (const int batch : {1, 8})
                for (const int context : {0, 4096, 32768}) {
                  const json& p = points[i++];
                  CHECK((p["model"] == model && p["hardware"] == hardware &&
                         p["engine"] == engine && p["weight_format"] == weights &&
                         p["kv_format"] == kv && p["tp"] == tp && p["batch"] == batch &&
                         p["context"] == context));
                }
}

TEST_CASE("a point of a sweep is what predict says") {
  const json points = run_json(kSweep)["points"];
  for (const std::size_t i : {std::size_t{0}, std::size_t{77}, points.size() - 1}) {
    const json& p = points[i];
    const auto text = [&](const char* key) { return p[key].get<std::string>(); };
    const json decode =
        run_json("predict --model " + text("model") + " --hardware " + text("hardware") +
                 " --engine " + text("engine") + " --weight-format " + text("weight_format") +
                 " --kv-format " + text("kv_format") + " --tp " + p["tp"].dump() + " --batch " +
                 p["batch"].dump() + " --context " + p["context"].dump())["decode"];
    // Sweeps print seven significant digits.
    for (const char* key : {"tpot_s", "tpot_low_s", "tpot_high_s", "tokens_per_second"})
      CHECK(p[key].get<double>() == relative(decode[key].get<double>()).epsilon(5e-7));
    CHECK(p["bound"] == decode["bound"]);
  }
}

TEST_CASE("the number of threads changes nothing") {
  const std::string line =
      "sweep --model llama-3.1-8b,deepseek-v3 --hardware h100-sxm --batch "
      "1..40:+1 --context 1..20000:+97 --format csv --threads ";
  const std::string one = run_cli(line + "1").out;
  CHECK(lines_of(one).size() == 1 + 2 * 40 * 207);
  CHECK(run_cli(line + "2").out == one);
  CHECK(run_cli(line + "7").out == one);
}

TEST_CASE("points that cannot run say why and stop nothing") {
  const json points = run_json(
      "sweep --model llama-3.1-8b --hardware h100-sxm --tp 1,3 --context 4096,200000 "
      "--batch 1,256")["points"];
  REQUIRE(points.size() == 8);
  CHECK(points[0]["status"] == "ok");
  CHECK(points[1]["status"] == "context above the model's maximum");
  CHECK(points[2]["status"] == "does not fit");
  CHECK(points[2]["tpot_s"].is_number());
  CHECK(points[4]["status"] == "tp does not divide the heads");
  CHECK(points[4]["tpot_s"].is_null());
}

TEST_CASE("every format has the same points, and TTFT on demand") {
  const std::string line = "sweep --model llama-3.1-8b --hardware h100-sxm --batch 1..8 --ttft ";
  const auto csv = lines_of(run_cli(line + "--format csv").out);
  REQUIRE(csv.size() == 5);
  CHECK(csv[0] ==
        "model,hardware,engine,weight_format,kv_format,tp,batch,context,tpot_s,tpot_low_s,"
        "tpot_high_s,tokens_per_second,tokens_per_second_per_user,memory_bytes,ttft_s,bound,"
        "status");
  for (const std::string& row : csv) CHECK(fields_of(row).size() == fields_of(csv[0]).size());
  const json points = run_json(line)["points"];
  REQUIRE(points.size() == 4);
  CHECK(std::stod(fields_of(csv[4])[14]) == points[3]["ttft_s"].get<double>());
  CHECK(lines_of(run_cli(line).out).size() == 5);
  CHECK(lines_of(run_cli(line).out)[0].find("memory/device") != std::string::npos);
  CHECK(lines_of(run_cli(line + "--format md").out).size() == 6);
}

TEST_CASE("a sweep is written whole or not at all") {
  const TemporaryFolder folder;
  const std::string line = "sweep --model llama-3.1-8b --hardware h100-sxm --batch ";
  CHECK(run_cli(line + "1..8 --output " + folder.file("s.csv")).code == 0);
  CHECK(lines_of(read_file(folder.file("s.csv"))).size() == 5);
  CHECK(run_cli(line + "1..0 --output " + folder.file("t.csv")).code == 2);
  CHECK(folder.entries() == 1);
  const CliResult full = run_cli(line + "1..100000:+1 --output /dev/full");
  CHECK(full.code == 4);
  CHECK(full.err == "roofcast: /dev/full: cannot write: No space left on device\n");
}

TEST_CASE("memory stays flat while the output grows") {
#ifdef __SANITIZE_ADDRESS__
  MESSAGE("skipped: the address sanitizer keeps freed memory");
  return;
#endif
  const auto peak_kib = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const std::string line =
      "sweep --model llama-3.1-8b --hardware h100-sxm --output /dev/null --format csv --batch 1..";
  run_cli(line + "10:+1");
  const long before = peak_kib();
  // 200,000 rows of some 130 bytes would be 25 MB if they were held.
  CHECK(run_cli(line + "1000:+1 --context 1..200:+1").code == 0);
  CHECK(peak_kib() - before < 12 * 1024);
}

TEST_CASE("a value that an axis has twice is refused") {
  const std::string line = "sweep --model llama-3.1-8b --hardware h100-sxm ";
  CHECK(run_cli(line + "--batch 1..8,4").err ==
        "roofcast: --batch: expected no value twice, got \"4\"\n");
  CHECK(run_cli(line + "--kv-format bf16,fp8,bf16").err ==
        "roofcast: --kv-format: expected no value twice, got \"bf16\"\n");
  CHECK(run_cli("sweep --model llama-3.1-8b --hardware t4,t4").code == 2);
}

TEST_CASE("absurd sweeps are refused before the first name is looked up") {
  std::string names = "unknown-0";
  for (int i = 1; i < 40'000; ++i) names += ",unknown-" + std::to_string(i);
  CHECK(run_cli("sweep --model " + names + " --hardware " + names).err ==
        "roofcast: sweep: expected at most 1000000000 points, got 1.6e+09: use larger steps\n");
}

TEST_CASE("absurd sweeps are refused at once") {
  CHECK(run_cli("sweep --model llama-3.1-8b --hardware h100-sxm --batch 1..1000000:+1 --context "
                "1..1000000:+1")
            .err.find("roofcast: sweep: expected at most 1000000000 points, got 1e+12") == 0);
  CHECK(run_cli("sweep --model llama-3.1-8b, --hardware h100-sxm").code == 2);
  CHECK(run_cli("sweep --model llama-3.1-8b --hardware h100-sxm --threads 0").code == 2);
}
