#include "microbench/calibration_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "microbench/calibration_rows.hpp"

namespace roofcast {
namespace {

constexpr unsigned kShuffleSeed = 20240229;

/// FNV-1a, 64 bits (Fowler, Noll, Vo).
std::uint64_t hash_of(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace

CalibrationPlan make_calibration_plan(CpuEnvironment& environment, bool quick) {
  CalibrationPlan plan;
  for (const CalibrationRow& row : calibration_rows())
    row.add_points(environment, quick, plan.benches);
  std::shuffle(plan.benches.begin(), plan.benches.end(), std::mt19937(kShuffleSeed));
  plan.rule = quick ? StoppingRule{.min_samples = 20, .half_width = 0.01, .max_seconds = 0.3}
                    : StoppingRule{.min_samples = 20, .half_width = 0.005, .max_seconds = 2.0};
  plan.budget_s = quick ? 45.0 : 540.0;
  return plan;
}

std::string plan_fingerprint(const CalibrationPlan& plan) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const CpuBench& bench : plan.benches)
    hash = hash_of(
        fmt::format("{}|{}|{}|{}\n", bench.benchmark, bench.label, bench.bytes, bench.flops), hash);
  hash = hash_of(
      fmt::format("{}|{}|{}", plan.rule.min_samples, plan.rule.half_width, plan.rule.max_seconds),
      hash);
  return fmt::format("{} points, {:016x}", plan.benches.size(), hash);
}

PointRules rules_for_next(const CalibrationPlan& plan, std::size_t points_done, double spent_s) {
  constexpr double kLeastSeconds = 0.05;
  const auto left = static_cast<double>(plan.benches.size() - points_done);
  const double share = std::max(0.0, plan.budget_s - spent_s) / std::max(left, 1.0);
  PointRules rules{plan.rule, {}};
  rules.stopping.max_seconds = std::clamp(share, kLeastSeconds, plan.rule.max_seconds);
  // A retry may take as long again.
  if (share < 2.0 * plan.rule.max_seconds) rules.drift.max_retries = 1;
  if (share < plan.rule.max_seconds) rules.drift.max_retries = 0;
  return rules;
}

}  // namespace roofcast
