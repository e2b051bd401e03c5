#include "microbench/shared/fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "microbench/shared/statistics.hpp"

namespace roofcast {
namespace {

constexpr double kHuber = 0.05;
constexpr int kMaxTerms = 6;

using Logs = std::array<double, kMaxTerms>;  // logarithms of the free constants
using Matrix = std::array<Logs, kMaxTerms>;

/// Where the free constants of a fit are; the order is that of Logs.
struct Layout {
  FitTerms terms;
  int size() const {
    return 1 + (terms.t0 ? 1 : 0) + (terms.compute ? 1 : 0) + (terms.work1 ? 1 : 0) +
           (terms.work2 ? 1 : 0) + (terms.norm ? 1 : 0);
  }
  bool bounded() const { return std::isfinite(terms.most_bandwidth); }
  KernelFit unpack(const Logs& logs) const {
    KernelFit fit;
    std::size_t next = 0;
    const double share = std::exp(logs[next++]);
    fit.bandwidth_share = bounded() ? terms.most_bandwidth * share / (1.0 + share) : share;
    if (terms.compute) fit.flops_share = std::exp(logs[next++]);
    if (terms.t0) fit.t0_s = std::exp(logs[next++]);
    if (terms.work1) fit.c1_s = std::exp(logs[next++]);
    if (terms.work2) fit.c2_s = std::exp(logs[next++]);
    // Never below 1: no kernel takes longer than its memory and its arithmetic one after the other.
    if (terms.norm) fit.norm = 1.0 + std::exp(logs[next++]);
    return fit;
  }
};

double relative_error(const KernelFit& fit, const FitPoint& point) {
  return predicted_seconds(fit, point) / point.seconds - 1.0;
}

double huber_weight(double error) {
  return std::fabs(error) <= kHuber ? 1.0 : kHuber / std::fabs(error);
}

double huber_loss(const std::vector<FitPoint>& points, const KernelFit& fit) {
  double loss = 0.0;
  for (const FitPoint& point : points) {
    const double error = std::fabs(relative_error(fit, point));
    loss += error <= kHuber ? 0.5 * error * error : kHuber * (error - 0.5 * kHuber);
  }
  return loss;
}

/// Solves a x = b for the first n rows by elimination with pivoting; false when singular.
bool solve(Matrix a, Logs b, std::size_t n, Logs& x) {
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i + 1; r < n; ++r)
      if (std::fabs(a[r][i]) > std::fabs(a[pivot][i])) pivot = r;
    if (a[pivot][i] == 0.0) return false;
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    for (std::size_t r = i + 1; r < n; ++r) {
      const double factor = a[r][i] / a[i][i];
      for (std::size_t c = i; c < n; ++c) a[r][c] -= factor * a[i][c];
      b[r] -= factor * b[i];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    double sum = b[i];
    for (std::size_t c = i + 1; c < n; ++c) sum -= a[i][c] * x[c];
    x[i] = sum / a[i][i];
  }
  return true;
}

/// Normal equations of the weighted errors, with numerical derivatives.
void normal_equations(const std::vector<FitPoint>& points, const Layout& layout, const Logs& logs,
                      Matrix& hessian, Logs& gradient) {
  constexpr double kStep = 1e-6;
  const auto n = static_cast<std::size_t>(layout.size());
  hessian = {};
  gradient = {};
  const KernelFit fit = layout.unpack(logs);
  std::array<KernelFit, kMaxTerms> moved;
  for (std::size_t i = 0; i < n; ++i) {
    Logs shifted = logs;
    shifted[i] += kStep;
    moved[i] = layout.unpack(shifted);
  }
  for (const FitPoint& point : points) {
    const double error = relative_error(fit, point);
    const double weight = huber_weight(error);
    Logs slope{};
    for (std::size_t i = 0; i < n; ++i)
      slope[i] = (relative_error(moved[i], point) - error) / kStep;
    for (std::size_t i = 0; i < n; ++i) {
      gradient[i] -= weight * slope[i] * error;
      for (std::size_t j = 0; j < n; ++j) hessian[i][j] += weight * slope[i] * slope[j];
    }
  }
}

/// Start: everything at the reference's rates, fixed times at a tenth of the shortest point.
Logs start_logs(const std::vector<FitPoint>& points, const Layout& layout) {
  double shortest = points.front().seconds;
  double work1 = 0.0;
  double work2 = 0.0;
  for (const FitPoint& p : points) {
    shortest = std::min(shortest, p.seconds);
    work1 = std::max(work1, p.work1);
    work2 = std::max(work2, p.work2);
  }
  Logs logs{};
  constexpr double kNearBound = 2.0;  // logarithm of share / (1 - share): 0.88 of the bound
  if (layout.bounded()) logs[0] = kNearBound;
  std::size_t next = 1;
  if (layout.terms.compute) ++next;
  if (layout.terms.t0) logs[next++] = std::log(0.1 * shortest);
  if (layout.terms.work1) logs[next++] = std::log(0.1 * shortest / std::max(work1, 1e-300));
  if (layout.terms.work2) logs[next++] = std::log(0.1 * shortest / std::max(work2, 1e-300));
  if (layout.terms.norm) logs[next++] = std::log(KernelFit{}.norm - 1.0);
  return logs;
}

Logs minimize(const std::vector<FitPoint>& points, const Layout& layout) {
  constexpr int kIterations = 200;
  constexpr double kMaxStep = 1.0;  // a factor of e per iteration
  Logs logs = start_logs(points, layout);
  double loss = huber_loss(points, layout.unpack(logs));
  double damping = 1e-3;
  const auto n = static_cast<std::size_t>(layout.size());
  for (int iteration = 0; iteration < kIterations && damping < 1e12; ++iteration) {
    Matrix hessian;
    Logs gradient;
    normal_equations(points, layout, logs, hessian, gradient);
    for (std::size_t i = 0; i < n; ++i) hessian[i][i] += damping * (hessian[i][i] + 1e-12);
    Logs step{};
    if (!solve(hessian, gradient, n, step)) break;
    Logs tried = logs;
    for (std::size_t i = 0; i < n; ++i) tried[i] += std::clamp(step[i], -kMaxStep, kMaxStep);
    const double new_loss = huber_loss(points, layout.unpack(tried));
    if (new_loss < loss) {
      logs = tried;
      loss = new_loss;
      damping *= 0.3;
    } else {
      damping *= 5.0;
    }
  }
  return logs;
}

std::vector<double> errors_of(const std::vector<double>& ratios) {
  std::vector<double> errors;
  for (const double ratio : ratios) errors.push_back(std::fabs(ratio - 1.0));
  return errors;
}

}  // namespace

double predicted_seconds(const KernelFit& fit, const FitPoint& point) {
  const double memory = point.memory_s / fit.bandwidth_share;
  const double compute = point.compute_s / fit.flops_share;
  const double larger = std::max(memory, compute);
  const double overlapped =
      larger <= 0.0
          ? 0.0
          : larger * std::pow(1.0 + std::pow(std::min(memory, compute) / larger, fit.norm),
                              1.0 / fit.norm);
  return fit.t0_s + overlapped + fit.c1_s * point.work1 + fit.c2_s * point.work2;
}

KernelFit fit_kernel(const std::vector<FitPoint>& points, const FitTerms& terms) {
  const Layout layout{terms};
  if (static_cast<int>(points.size()) < layout.size())
    throw std::invalid_argument("a fit needs at least as many points as constants");
  for (const FitPoint& point : points)
    if (!(point.seconds > 0.0)) throw std::invalid_argument("a fit needs times above zero");
  std::vector<FitPoint> used = points;
  if (!terms.compute)
    for (FitPoint& point : used) point.compute_s = 0.0;
  KernelFit fit = layout.unpack(minimize(used, layout));
  std::vector<double> ratios;
  for (const FitPoint& point : used)
    ratios.push_back(point.seconds / predicted_seconds(fit, point));
  fit.low = quantile(ratios, 0.1);
  fit.high = quantile(ratios, 0.9);
  fit.median_error = median(errors_of(ratios));
  fit.points = static_cast<int>(points.size());
  return fit;
}

std::optional<HeldOutErrors> held_out_errors(const std::vector<FitPoint>& points,
                                             const FitTerms& terms) {
  constexpr std::size_t kParts = 3;
  if (points.size() < kParts * static_cast<std::size_t>(Layout{terms}.size())) return std::nullopt;
  std::vector<double> ratios;
  for (std::size_t part = 0; part < kParts; ++part) {
    std::vector<FitPoint> seen;
    std::vector<FitPoint> unseen;
    for (std::size_t i = 0; i < points.size(); ++i)
      (i % kParts == part ? unseen : seen).push_back(points[i]);
    const KernelFit fit = fit_kernel(seen, terms);
    for (FitPoint& point : unseen) {
      if (!terms.compute) point.compute_s = 0.0;
      ratios.push_back(point.seconds / predicted_seconds(fit, point));
    }
  }
  const std::vector<double> errors = errors_of(ratios);
  return HeldOutErrors{median(errors), quantile(errors, 0.9), quantile(ratios, 0.1),
                       quantile(ratios, 0.9)};
}

}  // namespace roofcast
