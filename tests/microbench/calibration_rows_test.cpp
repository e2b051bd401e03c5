#include "microbench/calibration_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "microbench/calibration_plan.hpp"
#include "microbench/fit_calibration.hpp"
#include "model/base/document.hpp"
#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

constexpr Reference kReference{.read_bandwidth = 40e9, .dot_rate = 400e9};

/// Times that a machine would give whose kernels reach 90 % of the reference after 2 us.
std::vector<MeasuredBench> computed_times(const CalibrationPlan& plan) {
  std::vector<MeasuredBench> all;
  for (const CpuBench& bench : plan.benches) {
    SteadyTiming timing;
    const double larger = std::max(bench.bytes / (0.9 * kReference.read_bandwidth),
                                   bench.flops / (0.9 * kReference.dot_rate));
    timing.timing.median_s = 2e-6 + larger;
    timing.timing.samples = 20;
    timing.reference = kReference;
    all.push_back({&bench, timing});
  }
  return all;
}

TEST_CASE("every row adds points of its name, which no other row or point shares") {
  CpuEnvironment environment(2, std::nullopt, plan_bytes(true));
  std::set<std::string> benchmarks;
  std::set<std::string> points;
  for (const CalibrationRow& row : calibration_rows()) {
    CAPTURE(row.benchmark);
    CHECK(benchmarks.insert(std::string(row.benchmark)).second);
    std::vector<CpuBench> benches;
    row.add_points(environment, true, benches);
    CHECK((row.use == CalibrationRow::Use::cache_read || !benches.empty()));
    for (const CpuBench& bench : benches) {
      CHECK(bench.benchmark == row.benchmark);
      CHECK(points.insert(bench.benchmark + " " + bench.label).second);
    }
  }
}

TEST_CASE("the fits of a whole quick plan give back the machine and are read as written") {
  CpuEnvironment environment(2, std::nullopt, plan_bytes(true));
  const CalibrationPlan plan = make_calibration_plan(environment, true);
  CpuCalibration result;
  fit_calibration(computed_times(plan), kReference, 32e6, result);
  const CalibratedPrimitive* const read = find_primitive(result.calibration, "read");
  REQUIRE(read != nullptr);
  CHECK(read->bandwidth->value == relative(36e9).epsilon(1e-3));
  CHECK(read->t0->value == relative(2e-6).epsilon(1e-2));
  CHECK(read->held_out);
  CHECK(find_primitive(result.calibration, "copy")->bandwidth->value ==
        relative(36e9).epsilon(1e-2));
  CHECK(find_primitive(result.calibration, "barrier")->t0->value == relative(2e-6));
  REQUIRE(result.calibration.thread_reads.size() >= 2);
  CHECK(result.calibration.thread_reads.front().threads == 1);
  CHECK(result.calibration.thread_reads.back().threads == 2);
  CHECK(result.points.size() == plan.benches.size());
  result.calibration.device_kind = "cpu";
  result.calibration.provenance.device = "CPU";
  result.calibration.provenance.date = "2026-11-30";
  const std::string text = write_calibration_yaml(result.calibration, "epyc-9654");
  CHECK(read_calibration(parse_yaml(text, "cpu.yaml")) == result.calibration);
}

TEST_CASE("plans of other points have another fingerprint, the same plan has the same") {
  CpuEnvironment environment(1, std::nullopt, plan_bytes(true));
  const CalibrationPlan plan = make_calibration_plan(environment, true);
  CalibrationPlan fewer = plan;
  fewer.benches.pop_back();
  CalibrationPlan longer = plan;
  longer.rule.max_seconds *= 2.0;
  CHECK(plan_fingerprint(plan) == plan_fingerprint(make_calibration_plan(environment, true)));
  CHECK(plan_fingerprint(plan) != plan_fingerprint(fewer));
  CHECK(plan_fingerprint(plan) != plan_fingerprint(longer));
}

}  // namespace
}  // namespace roofcast
