#pragma once

#include <string>
#include <vector>

#include "microbench/shared/cpu_bench.hpp"
#include "microbench/shared/sampling.hpp"

namespace roofcast {

/// Which points a calibration measures and for how long.
struct CalibrationPlan {
  std::vector<CpuBench> benches;  // in random order, so that drift does not look like a trend
  StoppingRule rule;
  double budget_s = 0.0;  // for all points together
};

/// Rules for the next point: as planned while time allows, else shorter and without retries.
struct PointRules {
  StoppingRule stopping;
  DriftRule drift;
};
PointRules rules_for_next(const CalibrationPlan& plan, std::size_t points_done, double spent_s);

/// The points of all calibration_rows().
CalibrationPlan make_calibration_plan(CpuEnvironment& environment, bool quick);

/// A short text that differs between plans of other points or rules.
std::string plan_fingerprint(const CalibrationPlan& plan);

}  // namespace roofcast
