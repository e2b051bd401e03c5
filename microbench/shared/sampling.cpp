#include "microbench/shared/sampling.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace roofcast {
namespace {

double elapsed_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Timings of a machine that never holds still end at so many times the least number.
constexpr std::size_t kMostPerWanted = 4;

/// So many undisturbed timings stand for a point; with fewer the others count too.
constexpr std::size_t kEnoughTimings = 5;

double memory_work(const PairedTiming& timing) {
  return timing.seconds * timing.reference.read_bandwidth;
}

Reference mean(const Reference& a, const Reference& b) {
  return {0.5 * (a.read_bandwidth + b.read_bandwidth), 0.5 * (a.dot_rate + b.dot_rate)};
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

TimingSummary sample_until_settled(const std::function<Timing()>& sample,
                                   const StoppingRule& rule) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<double> all;
  std::vector<double> quiet;
  double spent_s = 0.0;
  do {
    const Timing timing = sample();
    all.push_back(timing.seconds);
    if (!timing.disturbed) quiet.push_back(timing.seconds);
    spent_s = elapsed_since(start);
  } while (spent_s < rule.max_seconds && stop_reason(quiet, spent_s, rule) == StopReason::go_on);
  const bool disturbed = quiet.size() < std::min(kEnoughTimings, all.size());
  TimingSummary summary = summarize(disturbed ? all : quiet);
  summary.disturbed = disturbed;
  return summary;
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
    result.reference = mean(before, after);
    result.steady = !result.timing.disturbed && !reference_moved(before, after, rule.limit);
    if (result.steady || result.redone >= rule.max_retries) return result;
    ++result.redone;
    before = after;
  }
}

std::vector<PairedTiming> time_in_pairs(const std::function<Reference()>& look,
                                        const std::function<Timing()>& sample,
                                        const StoppingRule& rule, double drift_limit) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<PairedTiming> timings;
  std::vector<double> works;
  Reference before = look();
  for (;;) {
    const Timing timing = sample();
    const Reference after = look();
    const bool steady = !timing.disturbed && !reference_moved(before, after, drift_limit);
    timings.push_back({timing.seconds, mean(before, after), steady});
    if (timings.back().steady) works.push_back(memory_work(timings.back()));
    before = after;
    const double spent_s = elapsed_since(start);
    if (spent_s >= rule.max_seconds || stop_reason(works, spent_s, rule) != StopReason::go_on ||
        timings.size() >= kMostPerWanted * static_cast<std::size_t>(rule.min_samples))
      return timings;
  }
}

std::vector<std::size_t> usable_timings(const std::vector<PairedTiming>& timings) {
  std::vector<std::size_t> steady;
  for (std::size_t i = 0; i < timings.size(); ++i)
    if (timings[i].steady) steady.push_back(i);
  if (steady.size() >= kEnoughTimings) return steady;
  std::vector<std::size_t> all(timings.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::size_t middle_timing(const std::vector<PairedTiming>& timings,
                          const std::vector<std::size_t>& positions) {
  std::vector<std::size_t> order = positions;
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
  std::nth_element(order.begin(), middle, order.end(), [&](std::size_t a, std::size_t b) {
    return memory_work(timings[a]) < memory_work(timings[b]);
  });
  return *middle;
}

}  // namespace roofcast
