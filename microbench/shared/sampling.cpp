#include "microbench/shared/sampling.hpp"

#include <chrono>
#include <cmath>

namespace roofcast {
namespace {

double elapsed_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool rate_moved(double before, double after, double limit) {
  return before > 0.0 && after > 0.0 && std::fabs(after / before - 1.0) > limit;
}

}  // namespace

StopReason stop_reason(const std::vector<double>& seconds, double spent_s,
                       const StoppingRule& rule) {
  if (seconds.empty()) return StopReason::go_on;
  if (spent_s >= rule.max_seconds) return StopReason::out_of_time;
  if (static_cast<int>(seconds.size()) < rule.min_samples) return StopReason::go_on;
  return summarize(seconds).half_width <= rule.half_width ? StopReason::settled : StopReason::go_on;
}

TimingSummary sample_until_settled(const std::function<double()>& sample,
                                   const StoppingRule& rule) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<double> seconds;
  do {
    seconds.push_back(sample());
  } while (stop_reason(seconds, elapsed_since(start), rule) == StopReason::go_on);
  return summarize(seconds);
}

bool reference_moved(const Reference& before, const Reference& after, double limit) {
  return rate_moved(before.read_bandwidth, after.read_bandwidth, limit) ||
         rate_moved(before.dot_rate, after.dot_rate, limit);
}

SteadyTiming time_steadily(const std::function<Reference()>& look,
                           const std::function<TimingSummary()>& point, const DriftRule& rule) {
  SteadyTiming result;
  Reference before = look();
  for (;;) {
    result.timing = point();
    const Reference after = look();
    result.reference = {0.5 * (before.read_bandwidth + after.read_bandwidth),
                        0.5 * (before.dot_rate + after.dot_rate)};
    result.steady = !reference_moved(before, after, rule.limit);
    if (result.steady || result.redone >= rule.max_retries) return result;
    ++result.redone;
    before = after;
  }
}

}  // namespace roofcast
