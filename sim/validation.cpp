#include "sim/validation.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

/// Nearest rank: the smallest value that at least nine tenths do not exceed.
double percentile90(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() * 9 + 9) / 10 - 1];
}

bool any_group_above(const std::vector<ValidationPoint>& steps, double limit) {
  for (std::string ValidationPoint::*const member :
       {&ValidationPoint::kind, &ValidationPoint::format}) {
    for (const std::string& value : values_of(steps, member)) {
      const ErrorSummary group = summarize(points_with(steps, member, value));
      if (group.n >= kLeastGroup && group.median_abs_error > limit) return true;
    }
  }
  return false;
}

}  // namespace

ErrorSummary summarize(const std::vector<ValidationPoint>& points) {
  if (points.empty()) return {};
  std::vector<double> signed_errors;
  std::vector<double> errors;
  std::size_t inside = 0;
  for (const ValidationPoint& point : points) {
    signed_errors.push_back(point.error());
    errors.push_back(std::abs(point.error()));
    inside += point.in_range() ? 1 : 0;
  }
  return {.n = points.size(),
          .median_abs_error = median(errors),
          .p90_abs_error = percentile90(errors),
          .bias = median(signed_errors),
          .coverage80 = static_cast<double>(inside) / static_cast<double>(points.size())};
}

Verdict judge(const std::vector<ValidationPoint>& steps, const Drift& drift,
              const ErrorLimits& limits) {
  if (static_cast<double>(drift.unsteady) > kMaxUnsteady * static_cast<double>(drift.points))
    return Verdict::too_noisy;
  if (!limits.any()) return Verdict::not_judged;
  const ErrorSummary all = summarize(steps);
  const bool above = (limits.median && all.median_abs_error > *limits.median) ||
                     (limits.p90 && all.p90_abs_error > *limits.p90) ||
                     (limits.p90 && any_group_above(steps, *limits.p90));
  return above ? Verdict::above_error : Verdict::ok;
}

std::vector<ValidationPoint> points_with(const std::vector<ValidationPoint>& points,
                                         std::string ValidationPoint::*member,
                                         const std::string& value) {
  std::vector<ValidationPoint> found;
  std::copy_if(points.begin(), points.end(), std::back_inserter(found),
               [&](const ValidationPoint& point) { return point.*member == value; });
  return found;
}

std::vector<std::string> values_of(const std::vector<ValidationPoint>& points,
                                   std::string ValidationPoint::*member) {
  std::vector<std::string> values;
  for (const ValidationPoint& point : points)
    if (std::find(values.begin(), values.end(), point.*member) == values.end())
      values.push_back(point.*member);
  return values;
}

}  // namespace roofcast
