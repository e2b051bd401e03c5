#include "microbench/fit_calibration.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "microbench/calibration_rows.hpp"

namespace roofcast {
namespace {

std::vector<MeasuredBench> of_benchmark(const std::vector<MeasuredBench>& all,
                                        std::string_view name) {
  std::vector<MeasuredBench> out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out),
               [&](const MeasuredBench& m) { return m.bench->benchmark == name; });
  return out;
}

FitPoint fit_point(const MeasuredBench& m, const CalibrationRow& row, const Reference& whole_run) {
  const Reference& reference = row.from_memory ? m.timing.reference : whole_run;
  return {.seconds = m.timing.timing.median_s,
          .memory_s = m.bench->bytes / reference.read_bandwidth,
          .compute_s = m.bench->flops / reference.dot_rate,
          .work1 = m.bench->work1,
          .work2 = m.bench->work2};
}

/// Points for a fit: those during which the machine held still, unless they are too few.
std::vector<MeasuredBench> usable(const std::vector<MeasuredBench>& measured) {
  constexpr std::size_t kEnough = 8;
  std::vector<MeasuredBench> steady;
  std::copy_if(measured.begin(), measured.end(), std::back_inserter(steady),
               [](const MeasuredBench& m) { return m.timing.steady; });
  return steady.size() >= std::min(kEnough, measured.size()) ? steady : measured;
}

/// At this exponent the larger of memory and compute is the time to within one part in a thousand.
constexpr double kLargestNorm = 100.0;

/// Residuals are those of points that a fit did not see: its own are narrower than the truth.
void note_residuals(const std::vector<FitPoint>& points, const FitTerms& terms,
                    const KernelFit& fit, CalibratedPrimitive& constants) {
  double low = fit.low;
  double high = fit.high;
  if (const auto held_out = held_out_errors(points, terms)) {
    constants.held_out = held_out->median_error;
    constants.held_out_p90 = held_out->p90_error;
    low = held_out->low;
    high = held_out->high;
  }
  constants.low = std::min(low, 1.0);
  constants.high = std::max(high, 1.0);
}

/// The row's terms. An exponent of its own has to earn its place: few points around the ridge leave
/// it free to run away, and then points that were held out are met no better.
FitTerms chosen_terms(const std::vector<FitPoint>& points, const CalibrationRow& row) {
  constexpr double kMostOfRead = 1.02;
  constexpr double kLeastGain = 0.9;
  FitTerms terms = row.terms;
  if (row.from_memory) terms.most_bandwidth = kMostOfRead;
  if (!terms.norm) return terms;
  FitTerms usual = terms;
  usual.norm = false;
  const auto own = held_out_errors(points, terms);
  const auto with_usual = held_out_errors(points, usual);
  const bool better = own && with_usual &&
                      own->median_error < kLeastGain * with_usual->median_error &&
                      own->p90_error < with_usual->p90_error;
  return better ? terms : usual;
}

struct FittedPrimitive {
  KernelFit fit;
  CalibratedPrimitive constants;
};

FittedPrimitive fit_primitive(const CalibrationRow& row, const std::vector<MeasuredBench>& measured,
                              const Reference& reference) {
  std::vector<FitPoint> points;
  CalibratedPrimitive constants;
  constants.name = row.primitive;
  constants.min_bytes = Bytes{measured.front().bench->bytes};
  constants.max_bytes = constants.min_bytes;
  for (const MeasuredBench& m : usable(measured)) {
    points.push_back(fit_point(m, row, reference));
    constants.min_bytes = std::min(*constants.min_bytes, Bytes{m.bench->bytes});
    constants.max_bytes = std::max(*constants.max_bytes, Bytes{m.bench->bytes});
  }
  const FitTerms terms = chosen_terms(points, row);
  const KernelFit fit = fit_kernel(points, terms);
  constants.bandwidth = BytesPerSecond{fit.bandwidth_share * reference.read_bandwidth};
  if (row.io_at_bandwidth) constants.io_bandwidth = constants.bandwidth;
  if (row.terms.compute) constants.flops = FlopsPerSecond{fit.flops_share * reference.dot_rate};
  constants.t0 = Seconds{fit.t0_s};
  if (row.terms.work1) constants.*row.work1_constant = Seconds{fit.c1_s};
  if (row.terms.work2) constants.c2 = Seconds{fit.c2_s};
  if (terms.norm) constants.norm = std::min(fit.norm, kLargestNorm);
  constants.points = fit.points;
  note_residuals(points, terms, fit, constants);
  return {fit, constants};
}

void append_fit(const CalibrationRow& row, const std::vector<MeasuredBench>& measured,
                const Reference& reference, CpuCalibration& result) {
  const FittedPrimitive fitted = fit_primitive(row, measured, reference);
  result.calibration.primitives.push_back(fitted.constants);
  for (const MeasuredBench& m : measured)
    result.points.push_back({m.bench->benchmark, m.bench->label, m.bench->bytes, m.bench->flops,
                             m.timing,
                             predicted_seconds(fitted.fit, fit_point(m, row, reference))});
}

void append_record(const CalibrationRow& row, const MeasuredBench& m, const Reference& reference,
                   double cache_bytes, CpuCalibration& result) {
  const double seconds = m.timing.timing.median_s;
  const double bandwidth = m.bench->bytes / seconds;
  switch (row.use) {
    case CalibrationRow::Use::fixed_time: {
      CalibratedPrimitive fixed;
      fixed.name = row.primitive;
      fixed.t0 = Seconds{seconds};
      fixed.points = 1;
      result.calibration.primitives.push_back(fixed);
      break;
    }
    case CalibrationRow::Use::thread_curve: {
      const double scale = reference.read_bandwidth / m.timing.reference.read_bandwidth;
      result.calibration.thread_reads.push_back(
          {m.bench->first_thread, m.bench->threads, BytesPerSecond{bandwidth * scale}});
      break;
    }
    case CalibrationRow::Use::cache_read:
      result.calibration.cache_read = CacheRead{{cache_bytes}, {bandwidth}};
      break;
    case CalibrationRow::Use::fit:
      break;
  }
  result.points.push_back(
      {m.bench->benchmark, m.bench->label, m.bench->bytes, m.bench->flops, m.timing, seconds});
}

}  // namespace

Reference median_reference(const std::vector<MeasuredBench>& all) {
  std::vector<double> reads;
  std::vector<double> dots;
  for (const MeasuredBench& m : all) {
    reads.push_back(m.timing.reference.read_bandwidth);
    dots.push_back(m.timing.reference.dot_rate);
  }
  return {median(reads), median(dots)};
}

void fit_calibration(const std::vector<MeasuredBench>& all, const Reference& reference,
                     double cache_bytes, CpuCalibration& result) {
  for (const CalibrationRow& row : calibration_rows()) {
    const std::vector<MeasuredBench> measured = of_benchmark(all, row.benchmark);
    if (measured.empty()) continue;
    if (row.use == CalibrationRow::Use::fit) {
      append_fit(row, measured, reference, result);
      continue;
    }
    for (const MeasuredBench& m : measured) append_record(row, m, reference, cache_bytes, result);
  }
  std::sort(result.calibration.thread_reads.begin(), result.calibration.thread_reads.end(),
            [](const ThreadRead& a, const ThreadRead& b) {
              return std::pair(a.first_thread, a.threads) < std::pair(b.first_thread, b.threads);
            });
}

}  // namespace roofcast
