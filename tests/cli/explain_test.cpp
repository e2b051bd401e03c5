#include <doctest/doctest.h>

#include "tests/cli/cli_runner.hpp"
#include "tests/relative.hpp"

using namespace roofcast;
using namespace roofcast::test;
using nlohmann::json;

namespace {
const std::string kArguments =
    " --model llama-3.1-8b --hardware h100-sxm --batch 64 --context 4096 ";
}

TEST_CASE("operators sum to the step, and the step is what predict says") {
  const json answer = run_json("explain" + kArguments);
  double sum = 0.0;
  double flops = 0.0;
  double kv_read = 0.0;
  for (const json& row : answer["operators"]) {
    sum += row["total_s"].get<double>();
    CHECK(row["total_s"].get<double>() ==
          relative(row["seconds"].get<double>() * row["count"].get<double>()));
    if (row["flops"].is_number()) flops += row["flops"].get<double>() * row["count"].get<double>();
    if (row["bytes"]["kv_read"].is_number())
      kv_read += row["bytes"]["kv_read"].get<double>() * row["count"].get<double>();
  }
  const json predicted = run_json("predict" + kArguments)["decode"];
  CHECK(answer["step"]["operators_s"].get<double>() == relative(sum));
  CHECK(answer["step"]["seconds"] == predicted["tpot_s"]);
  CHECK(answer["step"]["seconds_low"] == predicted["tpot_low_s"]);
  CHECK(flops == relative(predicted["flops"].get<double>()));
  CHECK(kv_read == relative(predicted["bytes"]["kv_read"].get<double>()));
}

TEST_CASE("each operator shows work, ceiling and where the ceiling comes from") {
  const json answer = run_json("explain" + kArguments);
  for (const json& row : answer["operators"]) {
    CAPTURE(row["name"].get<std::string>());
    CHECK(row["bandwidth"].get<double>() <= 3.35e12);
    CHECK_FALSE(row["origin"].get<std::string>().empty());
    CHECK_FALSE(row["bound"].get<std::string>().empty());
    if (row["flops"].is_number() && row["arithmetic_intensity"].is_number())
      CHECK(row["flop_rate"].get<double>() <= 1978.9e12);
  }
}

TEST_CASE("facts of the spec are spelled out") {
  const std::string out = run_cli("explain" + kArguments).out;
  CHECK(out.find("32 query heads share 8 KV heads: /4") != std::string::npos);
  CHECK(out.find("8,030,261,248") != std::string::npos);
  CHECK(out.find("131.1 kB") != std::string::npos);
  // q and k and v of Llama 3.1 8B: (32 + 2 x 8) x 128 = 6144 outputs from 4096 inputs.
  CHECK(out.find("64 x 6144 x 4096") != std::string::npos);
}

TEST_CASE("explain as CSV has one row for each operator") {
  const json answer = run_json("explain" + kArguments);
  const auto lines = lines_of(run_cli("explain" + kArguments + "--format csv").out);
  CHECK(lines.size() == answer["operators"].size() + 1);
  CHECK(lines[0].find("name,kind,layer_class,count,shape") == 0);
}
