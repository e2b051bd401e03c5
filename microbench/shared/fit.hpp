#pragma once

#include <limits>
#include <optional>
#include <vector>

namespace roofcast {

/// One measured kernel: its time, and what it would take if it only moved its bytes at the
/// reference bandwidth, or only did its FLOPs at the reference rate.
struct FitPoint {
  double seconds = 0.0;
  double memory_s = 0.0;
  double compute_s = 0.0;
  double work1 = 0.0;  // multiplies c1
  double work2 = 0.0;  // multiplies c2
};

/// Which terms a fit may use; the others stay at zero (c1, c2, t0) or unused (flops).
struct FitTerms {
  bool t0 = true;
  bool compute = false;
  bool work1 = false;
  bool work2 = false;
  bool norm = false;  // else 2.5
  /// Shares of the bandwidth stay below this: what waits for memory gets no more than a plain read
  /// does, and a share above it would let a wrong exponent or rate look right.
  double most_bandwidth = std::numeric_limits<double>::infinity();
};

/// t = t0 + pnorm(memory_s / bandwidth_share, compute_s / flops_share) + c1 work1 + c2 work2
struct KernelFit {
  double t0_s = 0.0;
  double bandwidth_share = 1.0;  // of the reference bandwidth
  double flops_share = 1.0;      // of the reference rate
  double c1_s = 0.0;
  double c2_s = 0.0;
  double norm = 2.5;  // p of the norm: 1 adds memory and compute, infinity is the larger of them
  double low = 1.0;   // 10 % and 90 % quantiles of measured / predicted
  double high = 1.0;
  double median_error = 0.0;  // of |measured / predicted - 1|
  int points = 0;
};

/// Seconds that a fit predicts for a point.
double predicted_seconds(const KernelFit& fit, const FitPoint& point);

/// Robust least squares on relative errors (weights 1 / T^2, Huber beyond 5 %), all constants kept
/// at or above zero, by Levenberg-Marquardt on their logarithms. Throws std::invalid_argument with
/// fewer points than terms or with a time that is not above zero.
KernelFit fit_kernel(const std::vector<FitPoint>& points, const FitTerms& terms);

/// What fits come to on points that they did not see.
struct HeldOutErrors {
  double median_error = 0.0;  // of |measured / predicted - 1|
  double p90_error = 0.0;
  double low = 1.0;  // 10 % and 90 % quantiles of measured / predicted
  double high = 1.0;
};

/// Three fits, each on two thirds of the points and asked for the rest, so that every point is held
/// out once. Thirds are every third point, so the order must not follow a size. Empty with fewer
/// than three points per constant.
std::optional<HeldOutErrors> held_out_errors(const std::vector<FitPoint>& points,
                                             const FitTerms& terms);

}  // namespace roofcast
