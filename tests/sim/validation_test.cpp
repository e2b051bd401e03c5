#include "sim/validation.hpp"

#include <doctest/doctest.h>

#include "sim/report/validation_report.hpp"
#include "tests/relative.hpp"

using namespace roofcast;
using roofcast::test::relative;

namespace {

ValidationPoint point(double measured, double predicted, double spread = 0.1) {
  ValidationPoint p;
  p.case_name = "m batch 1 context 128";
  p.operator_name = "step";
  p.kind = "gqa";
  p.format = "bf16";
  p.measured_s = measured;
  p.predicted_s = predicted;
  p.low_s = predicted * (1.0 - spread);
  p.high_s = predicted * (1.0 + spread);
  return p;
}

const Drift kSteady{
    .calibrated = 40e9, .slowest = 40e9, .fastest = 41e9, .points = 6, .unsteady = 2};

}  // namespace

TEST_CASE("errors are relative to the measured time") {
  CHECK(point(2.0, 3.0).error() == relative(0.5));
  CHECK(point(2.0, 1.0).error() == relative(-0.5));
}

TEST_CASE("a summary holds median, 90th percentile, bias and coverage") {
  // Errors +0.01 .. +0.10 on ten points: median 0.055, nearest-rank p90 the ninth, 0.09.
  std::vector<ValidationPoint> points;
  for (int i = 1; i <= 10; ++i) points.push_back(point(1.0, 1.0 + 0.01 * i, 0.05));
  const ErrorSummary summary = summarize(points);
  CHECK(summary.n == 10);
  CHECK(summary.median_abs_error == relative(0.055));
  CHECK(summary.p90_abs_error == relative(0.09));
  CHECK(summary.bias == relative(0.055));
  // 1.0 >= 0.95 (1 + e) holds up to e = 0.0526: the first five.
  CHECK(summary.coverage80 == relative(0.5));
  CHECK(summarize({}).n == 0);
}

TEST_CASE("bias keeps its sign while the error does not") {
  const ErrorSummary summary = summarize({point(1.0, 0.8), point(1.0, 0.9), point(1.0, 1.3)});
  CHECK(summary.bias == relative(-0.1));
  CHECK(summary.median_abs_error == relative(0.2));
}

TEST_CASE("the verdict needs a stated error and a steady machine") {
  const std::vector<ValidationPoint> steps = {point(1.0, 1.2)};
  CHECK(judge(steps, kSteady, {}) == Verdict::not_judged);
  CHECK(judge(steps, kSteady, {.median = 0.25}) == Verdict::ok);
  CHECK(judge(steps, kSteady, {.median = 0.15}) == Verdict::above_error);
  CHECK(judge(steps, kSteady, {.p90 = 0.25}) == Verdict::ok);
  CHECK(judge(steps, kSteady, {.median = 0.25, .p90 = 0.15}) == Verdict::above_error);
  const Drift flipping{
      .calibrated = 40e9, .slowest = 40e9, .fastest = 55e9, .points = 6, .unsteady = 3};
  CHECK(judge(steps, flipping, {.median = 0.25}) == Verdict::too_noisy);
  CHECK(judge(steps, flipping, {}) == Verdict::too_noisy);
}

TEST_CASE(
    "a kind whose steps are off by more than the limit of p90 fails among many that are not") {
  std::vector<ValidationPoint> steps(60, point(1.0, 1.01));
  for (std::size_t i = 0; i < kLeastGroup; ++i) {
    ValidationPoint bad = point(1.0, i % 2 == 0 ? 1.2 : 0.8);
    bad.kind = "mla";
    steps.push_back(bad);
  }
  // Four of 64 are beyond the 90th percentile of all.
  CHECK(summarize(steps).p90_abs_error == relative(0.01));
  CHECK(judge(steps, kSteady, {.median = 0.05}) == Verdict::ok);
  CHECK(judge(steps, kSteady, {.median = 0.05, .p90 = 0.1}) == Verdict::above_error);
  // Fewer are no kind that could be judged.
  steps.pop_back();
  CHECK(judge(steps, kSteady, {.median = 0.05, .p90 = 0.1}) == Verdict::ok);
}

TEST_CASE("the report counts whole steps, and lists operators beside them") {
  ValidationPoint part = point(0.5, 0.4);
  part.operator_name = "lm_head";
  const ValidationResult result{.points = {point(1.0, 1.1), part},
                                .drift = kSteady,
                                .verdict = Verdict::ok,
                                .notes = {"8 of 28 layers"}};
  const std::string json = write_json(validation_report(result));
  for (const char* text :
       {"\"n\": 1", "\"by_kind\"", "\"gqa\"", "\"by_format\"", "\"bf16\"", "\"coverage80\"",
        "\"operator\": \"lm_head\"", "\"verdict\": \"ok\"", "\"drift\"", "\"8 of 28 layers\""})
    CHECK(json.find(text) != std::string::npos);
  const std::string csv = write_csv(validation_report(result));
  CHECK(csv.find(
            "case,operator,measured_s,predicted_s,low_s,high_s,error,in_range,reference_read\n") ==
        0);
}
