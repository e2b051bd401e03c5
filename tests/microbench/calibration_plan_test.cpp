#include "microbench/calibration_plan.hpp"

#include <doctest/doctest.h>

#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

CalibrationPlan plan_of(std::size_t points, double budget_s) {
  CalibrationPlan plan;
  plan.benches.resize(points);
  plan.rule.max_seconds = 2.0;
  plan.budget_s = budget_s;
  return plan;
}

TEST_CASE("points are as long as planned while the budget allows a retry of each") {
  const PointRules rules = rules_for_next(plan_of(10, 100.0), 0, 0.0);
  CHECK(rules.stopping.max_seconds == 2.0);
  CHECK(rules.drift.max_retries == DriftRule{}.max_retries);
}

TEST_CASE("a run behind its budget shortens what is left and stops retrying") {
  // 5 points left in 5 s: one second each.
  const PointRules late = rules_for_next(plan_of(10, 100.0), 5, 95.0);
  CHECK(late.stopping.max_seconds == relative(1.0));
  CHECK(late.drift.max_retries == 0);
  const PointRules over = rules_for_next(plan_of(10, 100.0), 5, 500.0);
  CHECK(over.stopping.max_seconds > 0.0);
  CHECK(over.stopping.max_seconds < 0.1);
}

}  // namespace
}  // namespace roofcast
