#pragma once

#include <vector>

#include "microbench/calibrate_cpu.hpp"
#include "microbench/measure_plan.hpp"

namespace roofcast {

/// Median over all points of what the machine did around them.
Reference median_reference(const std::vector<MeasuredBench>& all);

/// Fits the primitive of each row and appends its constants and points to `result`; constants hold
/// at `reference`, which is that of the whole run. Rows without a point leave nothing.
void fit_calibration(const std::vector<MeasuredBench>& all, const Reference& reference,
                     double cache_bytes, CpuCalibration& result);

}  // namespace roofcast
