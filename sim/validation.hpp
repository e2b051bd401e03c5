#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace roofcast {

/// `operator_name` of a whole decode step.
inline constexpr const char* kWholeStep = "step";

/// One measured time beside its prediction.
struct ValidationPoint {
  std::string case_name;      // "qwen3-0.6b batch 4 context 1024"
  std::string operator_name;  // kWholeStep, or an operator's name
  std::string kind;           // attention kinds of the model, and "moe"
  std::string format;         // of the weights, and of the cache where it is another
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

/// Bounds of the absolute error of whole steps; those that are absent are not judged.
struct ErrorLimits {
  std::optional<double> median = {};
  std::optional<double> p90 = {};
  bool any() const { return median || p90; }
};

/// Judges whole steps: all together by both limits, and each kind and each format of at least
/// kLeastGroup steps by its median against the limit of p90. A model that is wrong for one kind is
/// off in half of its steps and more, which all kinds together can hide.
Verdict judge(const std::vector<ValidationPoint>& steps, const Drift& drift,
              const ErrorLimits& limits);
inline constexpr std::size_t kLeastGroup = 4;

/// The points whose `member` is `value`.
std::vector<ValidationPoint> points_with(const std::vector<ValidationPoint>& points,
                                         std::string ValidationPoint::*member,
                                         const std::string& value);

/// Values of `member`, in order of first appearance.
std::vector<std::string> values_of(const std::vector<ValidationPoint>& points,
                                   std::string ValidationPoint::*member);

}  // namespace roofcast
