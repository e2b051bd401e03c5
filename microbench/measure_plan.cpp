#include "microbench/measure_plan.hpp"

#include <fmt/format.h>

#include <chrono>

namespace roofcast {
namespace {

/// Seconds of measuring so far, those of earlier runs of this plan included.
class Spent {
 public:
  explicit Spent(const CalibrationJournal* journal)
      : before_s_(journal == nullptr || journal->points().empty()
                      ? 0.0
                      : journal->points().back().spent_s) {}

  double seconds() const {
    return before_s_ +
           std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double before_s_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

std::vector<MeasuredBench> measure_plan(CpuEnvironment& environment, const CalibrationPlan& plan,
                                        CalibrationJournal* journal, const Progress& progress) {
  const Spent spent(journal);
  const std::size_t known_points = journal != nullptr ? journal->points().size() : 0;
  std::size_t done = known_points;
  std::vector<MeasuredBench> measured;
  for (const CpuBench& bench : plan.benches) {
    const JournalPoint* const known =
        known_points > 0 ? journal->find(bench.benchmark, bench.label) : nullptr;
    if (known != nullptr) {
      measured.push_back({&bench, known->timing});
      continue;
    }
    if (progress)
      progress(fmt::format("{} {}", bench.benchmark, bench.label),
               static_cast<double>(done) / static_cast<double>(plan.benches.size()));
    const PointRules rules = rules_for_next(plan, done, spent.seconds());
    const SteadyTiming timing = time_steadily(
        [&] { return environment.look(); },
        [&] { return time_nodes(environment.pool, bench.work, rules.stopping); }, rules.drift);
    measured.push_back({&bench, timing});
    ++done;
    if (journal != nullptr)
      journal->append({bench.benchmark, bench.label, timing, spent.seconds()});
  }
  return measured;
}

}  // namespace roofcast
