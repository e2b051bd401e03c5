#pragma once

#include <optional>
#include <vector>

namespace roofcast {

/// Quantile q (0 .. 1) by linear interpolation between order statistics. `values` need not be
/// sorted; throws std::invalid_argument when empty.
double quantile(std::vector<double> values, double q);

double median(const std::vector<double>& values);

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

/// 95 % confidence interval of the median from order statistics: x_(k) .. x_(n+1-k) with the
/// largest k for which a fair coin shows fewer than k heads in n throws with probability at
/// most 2.5 %. It assumes nothing about the distribution. Empty below 6 values, which cannot give
/// that coverage.
std::optional<Interval> median_interval(std::vector<double> values);

/// What repeated timings of one point come to.
struct TimingSummary {
  double median_s = 0.0;
  double q1_s = 0.0;
  double q3_s = 0.0;
  double p5_s = 0.0;
  double p95_s = 0.0;
  double half_width = 0.0;  // of the median's interval, relative to the median
  int samples = 0;
  bool disturbed = false;  // other work took the CPUs away during most samples
};

/// Throws std::invalid_argument without samples.
TimingSummary summarize(const std::vector<double>& seconds);

}  // namespace roofcast
