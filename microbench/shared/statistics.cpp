#include "microbench/shared/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace roofcast {
namespace {

double sorted_quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Largest k with P(heads < k) <= 2.5 % in n fair throws; 0 when there is none.
std::size_t interval_rank(std::size_t n) {
  constexpr double kTail = 0.025;
  const auto throws = static_cast<double>(n);
  double below = 0.0;
  for (std::size_t heads = 0; heads < n; ++heads) {
    const auto h = static_cast<double>(heads);
    const double log_ways = std::lgamma(throws + 1.0) - std::lgamma(h + 1.0) -
                            std::lgamma(throws - h + 1.0) - throws * std::log(2.0);
    below += std::exp(log_ways);
    if (below > kTail) return heads;
  }
  return 0;
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) throw std::invalid_argument("a quantile needs values");
  std::sort(values.begin(), values.end());
  return sorted_quantile(values, q);
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

std::optional<Interval> median_interval(std::vector<double> values) {
  const std::size_t k = interval_rank(values.size());
  if (k == 0) return std::nullopt;
  std::sort(values.begin(), values.end());
  return Interval{values[k - 1], values[values.size() - k]};
}

TimingSummary summarize(const std::vector<double>& seconds) {
  if (seconds.empty()) throw std::invalid_argument("a summary needs samples");
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  TimingSummary summary{.median_s = sorted_quantile(sorted, 0.5),
                        .q1_s = sorted_quantile(sorted, 0.25),
                        .q3_s = sorted_quantile(sorted, 0.75),
                        .p5_s = sorted_quantile(sorted, 0.05),
                        .p95_s = sorted_quantile(sorted, 0.95),
                        .half_width = 1.0,
                        .samples = static_cast<int>(sorted.size())};
  if (const auto interval = median_interval(sorted); interval && summary.median_s > 0.0)
    summary.half_width = 0.5 * (interval->high - interval->low) / summary.median_s;
  return summary;
}

}  // namespace roofcast
