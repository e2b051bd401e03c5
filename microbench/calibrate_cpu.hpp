#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/src/calibration.hpp"
#include "hardware/src/machine_spec.hpp"
#include "microbench/measure_plan.hpp"
#include "microbench/shared/sampling.hpp"
#include "model/reference/cpu/isa.hpp"

namespace roofcast {

struct CalibrateOptions {
  bool quick = false;                          // under a minute instead of under ten
  int threads = 0;                             // 0: one per physical core
  std::optional<IsaLevel> isa = std::nullopt;  // the fastest there is when empty
  std::string date = {};                       // "2026-11-30"; today (UTC) when empty
  /// File that keeps each point as soon as it is measured, so that a later call with the same plan,
  /// machine and kernels goes on where this one was stopped. Empty: none. The caller removes it.
  std::string journal = {};
  std::function<void(std::string_view)> note = {};  // told what a person should know, as it happens
};

/// One point as measured, for a table beside the calibration.
struct CalibrationPoint {
  std::string benchmark;
  std::string label;
  double bytes = 0.0;
  double flops = 0.0;
  SteadyTiming measured;
  double predicted_s = 0.0;  // by the fitted constants at this point's reference
};

/// What measuring this CPU came to. Constants hold at the median of the reference reads; each was
/// fitted relative to the reference of its own moment.
struct CpuCalibration {
  MachineSpec machine;
  Calibration calibration;
  std::vector<CalibrationPoint> points;
  std::vector<std::string> limits;  // what the system kept from the threads, see cpu_limits.hpp
  int redone = 0;                   // points thrown away because the machine changed under them
  int unsteady = 0;                 // points kept although it changed in their last try too
};

/// Measures the points of all calibration_rows() with the reference engine's kernels and fits them.
/// Throws IoError when memory does not suffice or the journal cannot be used.
CpuCalibration calibrate_cpu(const CalibrateOptions& options, const Progress& progress);

}  // namespace roofcast
