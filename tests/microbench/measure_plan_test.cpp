#include "microbench/measure_plan.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

namespace roofcast {
namespace {

const JournalIdentity kIdentity{"machine", "kernels", "plan"};

struct TemporaryFile {
  std::string path =
      (std::filesystem::temp_directory_path() / ("plan_journal_" + std::to_string(getpid())))
          .string();
  ~TemporaryFile() { std::filesystem::remove(path); }
};

/// Three points that count how often they are run.
struct CountingPlan {
  CalibrationPlan plan;
  std::atomic<int> runs[3] = {};

  CountingPlan() {
    for (int i = 0; i < 3; ++i) {
      CpuBench bench;
      bench.benchmark = "count";
      bench.label = std::to_string(i);
      bench.work = [this, i](int, std::size_t) { ++runs[i]; };
      plan.benches.push_back(bench);
    }
    plan.rule = {.min_samples = 2, .half_width = 1.0, .max_seconds = 0.0};
    plan.budget_s = 1.0;
  }
};

TEST_CASE("a run that is killed loses the point in flight, and the next run goes on there") {
  const TemporaryFile file;
  const pid_t child = fork();
  if (child == 0) {
    CpuEnvironment environment(1, std::nullopt, 0);
    CountingPlan counting;
    counting.plan.benches[2].work = [](int, std::size_t) { raise(SIGKILL); };
    CalibrationJournal journal(file.path, kIdentity);
    measure_plan(environment, counting.plan, &journal, {});
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(WTERMSIG(status) == SIGKILL);

  CpuEnvironment environment(1, std::nullopt, 0);
  CountingPlan counting;
  CalibrationJournal journal(file.path, kIdentity);
  REQUIRE(journal.points().size() == 2);
  std::vector<std::string> measured_now;
  const std::vector<MeasuredBench> all =
      measure_plan(environment, counting.plan, &journal,
                   [&](std::string_view what, double) { measured_now.emplace_back(what); });
  CHECK(measured_now == std::vector<std::string>{"count 2"});
  CHECK(counting.runs[0] == 0);
  CHECK(counting.runs[1] == 0);
  CHECK(counting.runs[2] > 0);
  REQUIRE(all.size() == 3);
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(all[i].timing.timing.median_s == journal.points()[i].timing.timing.median_s);
}

TEST_CASE("without a journal every point is measured") {
  CpuEnvironment environment(1, std::nullopt, 0);
  CountingPlan counting;
  CHECK(measure_plan(environment, counting.plan, nullptr, {}).size() == 3);
  for (const std::atomic<int>& runs : counting.runs) CHECK(runs > 0);
}

}  // namespace
}  // namespace roofcast
