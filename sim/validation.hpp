#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace roofcast {

/// One measured time beside its prediction. `operator_name` is "step" for a whole decode step.
struct ValidationPoint {
  std::string case_name;      // "qwen3-0.6b batch 4 context 1024"
  std::string operator_name;  // "step", or an operator's name
  std::string kind;           // attention kinds of the model
  std::string format;         // of the weights
  std::int64_t batch = 1;
  double measured_s = 0.0;  // median
  double predicted_s = 0.0;
  double low_s = 0.0;  // 80 % range of the prediction
  double high_s = 0.0;
  double reference_read = 0.0;  // bytes/s of a plain read around this point

  /// Relative error of the predicted time: above 0 means that the machine was faster.
  double error() const { return predicted_s / measured_s - 1.0; }
  bool in_range() const { return low_s <= measured_s && measured_s <= high_s; }
};

/// Errors of a set of points; all 0 for an empty set.
struct ErrorSummary {
  std::size_t n = 0;
  double median_abs_error = 0.0;
  double p90_abs_error = 0.0;
  double bias = 0.0;        // median of the signed errors
  double coverage80 = 0.0;  // share of the measurements inside the predicted range
};
ErrorSummary summarize(const std::vector<ValidationPoint>& points);

/// How fast plain reads of the machine were: in the calibration, and around the points. Predictions
/// are scaled to the reference of their own moment, so a machine between modes can be judged; one
/// that changes inside points can not.
struct Drift {
  double calibrated = 0.0;  // bytes/s
  double slowest = 0.0;
  double fastest = 0.0;
  std::size_t points = 0;
  std::size_t unsteady = 0;  // points of which too few steps ran while the machine held still
};

/// With a larger share of unsteady points the machine is too noisy to judge.
inline constexpr double kMaxUnsteady = 1.0 / 3.0;

enum class Verdict { ok, above_error, too_noisy, not_judged };

/// `max_error` bounds the median absolute error of whole steps; without it errors are not judged.
Verdict judge(const ErrorSummary& steps, const Drift& drift, std::optional<double> max_error);

/// The points whose `member` is `value`.
std::vector<ValidationPoint> points_with(const std::vector<ValidationPoint>& points,
                                         std::string ValidationPoint::*member,
                                         const std::string& value);

/// Values of `member`, in order of first appearance.
std::vector<std::string> values_of(const std::vector<ValidationPoint>& points,
                                   std::string ValidationPoint::*member);

}  // namespace roofcast
