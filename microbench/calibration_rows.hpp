#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hardware/src/calibration.hpp"
#include "microbench/shared/cpu_bench.hpp"
#include "microbench/shared/fit.hpp"

namespace roofcast {

/// One kind of benchmark of a calibration: its points, and what the file keeps of them.
struct CalibrationRow {
  enum class Use {
    fit,           // all points together give the constants of `primitive`
    fixed_time,    // its one point is the fixed time of `primitive`
    thread_curve,  // each point is a bandwidth by the threads that took part
    cache_read,    // its one point is the bandwidth of the last-level cache
  };

  std::string_view benchmark;       // CpuBench::benchmark of its points
  std::string_view primitive = {};  // key in the file
  void (*add_points)(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) = nullptr;
  FitTerms terms = {};
  /// Where the fitted c1 goes.
  std::optional<Seconds> CalibratedPrimitive::*work1_constant = &CalibratedPrimitive::c1;
  Use use = Use::fit;
  /// Kernels on memory are as fast as the machine was at that moment; those whose operands stay in
  /// caches are not slowed by what slows its memory.
  bool from_memory = true;
  /// Token traffic of experts is a few per cent of their bytes: too few for a bandwidth of its own.
  bool io_at_bandwidth = false;
};

/// Everything that a calibration measures. A new benchmark is one row here. Shapes are round
/// numbers, not those of a catalogue model: validation is on other shapes.
std::span<const CalibrationRow> calibration_rows();

/// Bytes that the slabs have to hold together.
std::size_t plan_bytes(bool quick);

}  // namespace roofcast
