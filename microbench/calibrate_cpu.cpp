#include "microbench/calibrate_cpu.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iterator>
#include <utility>

#include "microbench/calibration_plan.hpp"
#include "microbench/cpu_barrier/cpu_barrier.hpp"
#include "microbench/cpu_machine_spec.hpp"

#ifndef ROOFCAST_COMMIT
#define ROOFCAST_COMMIT ""
#endif

namespace roofcast {
namespace {

/// A measured point with what its fit needs besides.
struct Measured {
  const CpuBench* bench;
  SteadyTiming timing;
};

std::vector<Measured> of_benchmark(const std::vector<Measured>& all, std::string_view name) {
  std::vector<Measured> out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out),
               [&](const Measured& m) { return m.bench->benchmark == name; });
  return out;
}

/// Operands of elementwise kernels stay in the caches.
bool waits_for_memory(const CpuBench& bench) { return bench.benchmark != "elementwise"; }

/// Kernels on memory are as fast as the machine was at that moment; those on caches are not slowed
/// by what slows its memory, so for them the reference is one for the whole run.
Reference reference_of(const Measured& m, const Reference& whole_run) {
  return waits_for_memory(*m.bench) ? m.timing.reference : whole_run;
}

FitPoint fit_point(const Measured& m, const Reference& whole_run) {
  const Reference reference = reference_of(m, whole_run);
  return {.seconds = m.timing.timing.median_s,
          .memory_s = m.bench->bytes / reference.read_bandwidth,
          .compute_s = m.bench->flops / reference.dot_rate,
          .work1 = m.bench->work1,
          .work2 = m.bench->work2};
}

/// Median over all points of what the machine did around them.
Reference median_reference(const std::vector<Measured>& all) {
  std::vector<double> reads;
  std::vector<double> dots;
  for (const Measured& m : all) {
    reads.push_back(m.timing.reference.read_bandwidth);
    dots.push_back(m.timing.reference.dot_rate);
  }
  return {median(reads), median(dots)};
}

struct FittedPrimitive {
  KernelFit fit;
  CalibratedPrimitive constants;
};

/// Points for a fit: those during which the machine held still, unless they are too few.
std::vector<Measured> usable(const std::vector<Measured>& measured) {
  constexpr std::size_t kEnough = 8;
  std::vector<Measured> steady;
  std::copy_if(measured.begin(), measured.end(), std::back_inserter(steady),
               [](const Measured& m) { return m.timing.steady; });
  return steady.size() >= std::min(kEnough, measured.size()) ? steady : measured;
}

/// Fits one primitive; constants hold at `reference`.
FittedPrimitive fit_primitive(std::string name, const std::vector<Measured>& measured,
                              const FitTerms& terms, const Reference& reference) {
  std::vector<FitPoint> points;
  CalibratedPrimitive constants;
  constants.min_bytes = Bytes{measured.front().bench->bytes};
  constants.max_bytes = constants.min_bytes;
  for (const Measured& m : usable(measured)) {
    points.push_back(fit_point(m, reference));
    constants.min_bytes = std::min(*constants.min_bytes, Bytes{m.bench->bytes});
    constants.max_bytes = std::max(*constants.max_bytes, Bytes{m.bench->bytes});
  }
  const KernelFit fit = fit_kernel(points, terms);
  constants.name = std::move(name);
  // What waits for memory gets no more of it than a plain read does: a larger share means that the
  // machine changed between a point and the looks beside it.
  constexpr double kMostOfRead = 1.05;
  const double share = waits_for_memory(*measured.front().bench)
                           ? std::min(fit.bandwidth_share, kMostOfRead)
                           : fit.bandwidth_share;
  constants.bandwidth = BytesPerSecond{share * reference.read_bandwidth};
  if (terms.compute) constants.flops = FlopsPerSecond{fit.flops_share * reference.dot_rate};
  constants.t0 = Seconds{fit.t0_s};
  if (terms.work1) constants.c1 = Seconds{fit.c1_s};
  if (terms.work2) constants.c2 = Seconds{fit.c2_s};
  constants.low = fit.low;
  constants.high = fit.high;
  constants.points = fit.points;
  return {fit, constants};
}

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))); }

std::string compiler() {
#ifdef __clang__
  return "clang++ " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

Provenance provenance_of(const CpuEnvironment& environment, const CpuCalibration& result,
                         const Reference& reference, const std::string& date) {
  utsname system{};
  uname(&system);
  const Topology& t = environment.topology;
  Provenance p;
  p.device = t.cpu_model.empty() ? "CPU" : t.cpu_model;
  p.driver = fmt::format("{} {}", system.sysname, system.release);
  p.toolkit = fmt::format("kernels {}", isa_name(environment.kernels.isa));
  p.compiler = compiler();
  p.clocks = t.governor.empty() ? "no frequency governor visible" : "governor " + t.governor;
  p.mode =
      fmt::format("reference read {:.4g} GB/s, dot products {:.4g} GFLOP/s, median over the run",
                  reference.read_bandwidth / 1e9, reference.dot_rate / 1e9);
  p.threads = environment.pool.size();
  p.date = date;
  p.commit = ROOFCAST_COMMIT;
  p.points = static_cast<std::int64_t>(result.points.size());
  p.notes = fmt::format(
      "{} points redone because the machine changed, {} kept although it did; "
      "waking all threads takes {:.3g} us",
      result.redone, result.unsteady, result.region_s * 1e6);
  return p;
}

std::vector<Measured> measure_all(CpuEnvironment& environment, const CalibrationPlan& plan,
                                  const Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Measured> measured;
  for (const CpuBench& bench : plan.benches) {
    if (progress)
      progress(fmt::format("{} {}", bench.benchmark, bench.label),
               static_cast<double>(measured.size()) / static_cast<double>(plan.benches.size()));
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    const PointRules rules = rules_for_next(plan, measured.size(), spent.count());
    const auto point = [&] { return time_nodes(environment.pool, bench.work, rules.stopping); };
    measured.push_back(
        {&bench, time_steadily([&] { return environment.look(); }, point, rules.drift)});
  }
  return measured;
}

CpuPeaks peaks_of(const std::vector<Measured>& all) {
  CpuPeaks peaks;
  for (const Measured& m : all) {
    peaks.read_bandwidth = std::max(peaks.read_bandwidth, m.timing.reference.read_bandwidth);
    peaks.dot_rate = std::max(peaks.dot_rate, m.timing.reference.dot_rate);
  }
  return peaks;
}

/// Fits each primitive and appends its constants and points to the result.
void fit_all(const std::vector<Measured>& all, const Reference& reference, CpuCalibration& result) {
  struct Row {
    const char* benchmark;
    const char* primitive;
    FitTerms terms;
  };
  const Row rows[] = {
      {"read", "read", {}},
      {"gemm", "gemm_bf16", {.compute = true}},
      {"mla", "mla_bf16", {.compute = true, .work1 = true}},
      {"attention_bf16", "attention_bf16", {.compute = true, .work1 = true, .work2 = true}},
      {"attention_fp8", "attention_fp8", {.compute = true, .work1 = true, .work2 = true}},
      {"attention_int8", "attention_int8", {.compute = true, .work1 = true, .work2 = true}},
      {"moe", "moe_bf16", {.compute = true}},
      {"elementwise", "elementwise", {}}};
  for (const Row& row : rows) {
    const std::vector<Measured> measured = of_benchmark(all, row.benchmark);
    FittedPrimitive fitted = fit_primitive(row.primitive, measured, row.terms, reference);
    // Token traffic of experts is a few per cent of their bytes: too few for a bandwidth of its
    // own.
    if (measured.front().bench->benchmark == "moe")
      fitted.constants.io_bandwidth = fitted.constants.bandwidth;
    // What latent attention takes per sequence has a constant of its own name.
    if (measured.front().bench->benchmark == "mla")
      fitted.constants.c_mla = std::exchange(fitted.constants.c1, std::nullopt);
    result.calibration.primitives.push_back(fitted.constants);
    for (const Measured& m : measured)
      result.points.push_back({m.bench->benchmark, m.bench->label, m.bench->bytes, m.bench->flops,
                               m.timing, predicted_seconds(fitted.fit, fit_point(m, reference))});
  }
  for (const Measured& m : of_benchmark(all, "barrier")) {
    CalibratedPrimitive barrier;
    barrier.name = "barrier";
    barrier.t0 = Seconds{m.timing.timing.median_s};
    barrier.points = 1;
    result.calibration.primitives.push_back(barrier);
    result.points.push_back(
        {"barrier", m.bench->label, 0.0, 0.0, m.timing, m.timing.timing.median_s});
  }
  for (const Measured& m : of_benchmark(all, "cache_read"))
    result.points.push_back(
        {"cache_read", m.bench->label, m.bench->bytes, 0.0, m.timing, m.timing.timing.median_s});
}

}  // namespace

CpuCalibration calibrate_cpu(const CalibrateOptions& options, const Progress& progress) {
  CpuEnvironment environment(options.threads, options.isa, plan_bytes(options.quick));
  const CalibrationPlan plan = make_calibration_plan(environment, options.quick);
  const std::vector<Measured> all = measure_all(environment, plan, progress);
  const Reference reference = median_reference(all);
  const std::string date = options.date.empty() ? today() : options.date;

  CpuCalibration result;
  for (const Measured& m : all) {
    result.redone += m.timing.redone;
    result.unsteady += m.timing.steady ? 0 : 1;
  }
  result.region_s = time_region(environment, {.max_seconds = 0.2}).median_s;
  fit_all(all, reference, result);
  for (const Measured& m : of_benchmark(all, "cache_read"))
    result.calibration.cache_read =
        CacheRead{{static_cast<double>(environment.topology.last_level_cache_bytes)},
                  {m.bench->bytes / m.timing.timing.median_s}};
  result.calibration.device_kind = "cpu";
  result.calibration.reference = ReferenceRates{{reference.read_bandwidth}, {reference.dot_rate}};
  result.machine = describe_cpu(environment.topology, environment.pool.size(),
                                environment.kernels.isa, peaks_of(all), date);
  result.calibration.provenance = provenance_of(environment, result, reference, date);
  if (progress) progress("done", 1.0);
  return result;
}

}  // namespace roofcast
