#include "microbench/calibrate_cpu.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "microbench/calibration_journal.hpp"
#include "microbench/calibration_plan.hpp"
#include "microbench/calibration_rows.hpp"
#include "microbench/cpu_barrier/cpu_barrier.hpp"
#include "microbench/cpu_machine_spec.hpp"
#include "microbench/fit_calibration.hpp"
#include "microbench/measure_plan.hpp"
#include "model/base/error.hpp"
#include "model/reference/cpu/cpu_limits.hpp"

#ifndef ROOFCAST_COMMIT
#define ROOFCAST_COMMIT ""
#endif

namespace roofcast {
namespace {

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
  p.notes = fmt::format("{} points redone because the machine changed, {} kept although it did",
                        result.redone, result.unsteady);
  for (const std::string& limit : result.limits) p.notes += "; " + limit;
  return p;
}

JournalIdentity identity_of(const CpuEnvironment& environment, const CalibrationPlan& plan) {
  const Topology& t = environment.topology;
  return {.machine = fmt::format("{}, {} threads, {} bytes of cache, {} of memory",
                                 t.cpu_model.empty() ? "CPU" : t.cpu_model, environment.pool.size(),
                                 t.last_level_cache_bytes, t.memory_bytes),
          .kernels = fmt::format("{}, {}, commit {}", isa_name(environment.kernels.isa), compiler(),
                                 ROOFCAST_COMMIT),
          .plan = plan_fingerprint(plan)};
}

/// Opens the journal of an unfinished run and says what is taken from it.
std::unique_ptr<CalibrationJournal> open_journal(const CalibrateOptions& options,
                                                 const JournalIdentity& identity,
                                                 std::size_t points) {
  if (options.journal.empty()) return nullptr;
  auto journal = std::make_unique<CalibrationJournal>(options.journal, identity);
  if (!options.note) return journal;
  if (!journal->replaced().empty())
    options.note(fmt::format("starts anew: the journal {} is of no use, {}",
                             in_quotes(options.journal), journal->replaced()));
  if (!journal->points().empty())
    options.note(fmt::format("continues an unfinished run: {} of {} points are in {}",
                             journal->points().size(), points, in_quotes(options.journal)));
  return journal;
}

CpuPeaks peaks_of(const std::vector<MeasuredBench>& all) {
  CpuPeaks peaks;
  for (const MeasuredBench& m : all) {
    peaks.read_bandwidth = std::max(peaks.read_bandwidth, m.timing.reference.read_bandwidth);
    peaks.dot_rate = std::max(peaks.dot_rate, m.timing.reference.dot_rate);
  }
  return peaks;
}

/// Waking all threads once: what a step pays besides its barriers.
CalibratedPrimitive fork_join(CpuEnvironment& environment) {
  const TimingSummary timing = time_region(environment, {.max_seconds = 0.2});
  CalibratedPrimitive fixed;
  fixed.name = "fork_join";
  fixed.t0 = Seconds{timing.median_s};
  fixed.points = timing.samples;
  return fixed;
}

}  // namespace

CpuCalibration calibrate_cpu(const CalibrateOptions& options, const Progress& progress) {
  CpuEnvironment environment(options.threads, options.isa, plan_bytes(options.quick));
  const CalibrationPlan plan = make_calibration_plan(environment, options.quick);
  const auto journal = open_journal(options, identity_of(environment, plan), plan.benches.size());
  const std::vector<MeasuredBench> all = measure_plan(environment, plan, journal.get(), progress);
  const Reference reference = median_reference(all);
  const std::string date = options.date.empty() ? today() : options.date;

  CpuCalibration result;
  for (const MeasuredBench& m : all) {
    result.redone += m.timing.redone;
    result.unsteady += m.timing.steady ? 0 : 1;
  }
  fit_calibration(all, reference, static_cast<double>(environment.topology.last_level_cache_bytes),
                  result);
  result.calibration.primitives.push_back(fork_join(environment));
  result.calibration.device_kind = "cpu";
  result.calibration.reference = ReferenceRates{{reference.read_bandwidth}, {reference.dot_rate}};
  result.machine = describe_cpu(environment.topology, environment.pool.size(),
                                environment.kernels.isa, peaks_of(all), date);
  result.limits = limits_of(environment.pool);
  result.calibration.provenance = provenance_of(environment, result, reference, date);
  if (progress) progress("done", 1.0);
  return result;
}

}  // namespace roofcast
