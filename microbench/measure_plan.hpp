#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "microbench/calibration_journal.hpp"
#include "microbench/calibration_plan.hpp"

namespace roofcast {

/// What a long measurement is at, and how much of it is done (0 .. 1).
using Progress = std::function<void(std::string_view what, double done)>;

/// A measured point with what its fit needs besides.
struct MeasuredBench {
  const CpuBench* bench = nullptr;
  SteadyTiming timing;
};

/// Measures the plan's points in its order, each between two looks at the machine and again while
/// they differ. Points that the journal holds are taken from it, the others are added to it as soon
/// as they are measured; nullptr: no journal.
std::vector<MeasuredBench> measure_plan(CpuEnvironment& environment, const CalibrationPlan& plan,
                                        CalibrationJournal* journal, const Progress& progress);

}  // namespace roofcast
