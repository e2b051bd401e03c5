#include "sim/compare_step.hpp"

#include <doctest/doctest.h>

#include "sim/validation_grid.hpp"
#include "tests/relative.hpp"
#include "tests/sim/ideal_model.hpp"

using namespace roofcast;
using roofcast::test::ideal_model;
using roofcast::test::relative;

namespace {

ArchitectureSpec tiny(const char* formats) {
  const std::string text = std::string(R"(
hidden_dim: 64
vocab_size: 128
attention:
  full: {kind: gqa, n_heads: 2, n_kv_heads: 1, head_dim: 32}
ffn:
  dense: {kind: dense, ffn_dim: 128}
layers:
  - {count: 3, attention: full, ffn: dense}
)") + formats;
  return grid_spec({"tiny", text, {}});
}

}  // namespace

TEST_CASE("a step comes first, then each operator with all its layers") {
  const ArchitectureSpec spec = tiny("");
  MeasuredStep measured{.batch = 2, .context = 16, .seconds = 1e-3};
  measured.reference = {.read = {40e9}, .dot = {1e12}};
  const OperatorList operators = operators_of(spec, measured);
  for (std::size_t i = 0; i < operators.size(); ++i)
    measured.operator_seconds.push_back(1e-6 * static_cast<double>(i + 1));
  const CostModel model = ideal_model(40e9, 1e12);
  const std::vector<ValidationPoint> points = compare_step(spec, measured, operators, model);
  REQUIRE(points.size() == operators.size() + 1);
  CHECK(points[0].operator_name == kWholeStep);
  CHECK(points[0].case_name == "tiny batch 2 context 16");
  CHECK(points[0].measured_s == 1e-3);
  CHECK(points[0].reference_read == 40e9);
  double sum = 0.0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    CHECK(points[i].operator_name == operators[i - 1].name);
    CHECK(points[i].measured_s == 1e-6 * static_cast<double>(i));
    sum += points[i].predicted_s;
    // 3 layers of (64 x 128) down-projections, 2 rows in and out, in bf16.
    if (operators[i - 1].name == "ffn_down")
      CHECK(points[i].predicted_s == relative(3 * 2.0 * (64 * 128 + 2 * (64 + 128)) / 40e9));
  }
  CHECK(points[0].predicted_s == relative(sum));
}

TEST_CASE("operators that were not timed leave no point") {
  const ArchitectureSpec spec = tiny("");
  const MeasuredStep measured{.batch = 1, .context = 16, .seconds = 1e-3};
  CHECK(
      compare_step(spec, measured, operators_of(spec, measured), ideal_model(40e9, 1e12)).size() ==
      1);
}

TEST_CASE("cases are told apart by kinds and formats") {
  CHECK(kinds_text(tiny("")) == "gqa");
  CHECK(formats_text(tiny("")) == "bf16");
  CHECK(formats_text(tiny("formats: {attention: int8, k: fp8_e4m3, v: fp8_e4m3}\n")) ==
        "int8, KV fp8_e4m3");
  for (const GridCase& row : validation_grid()) {
    if (row.name == "window_and_full") CHECK(kinds_text(grid_spec(row)) == "sliding_window+gqa");
    if (row.name == "moe") CHECK(kinds_text(grid_spec(row)) == "gqa+moe");
  }
}
