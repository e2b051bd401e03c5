#include "model/reference/measure_decode.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "microbench/shared/region_timer.hpp"
#include "model/reference/cpu/topology.hpp"

namespace roofcast {
namespace {

/// Steps, each with its operators' times.
struct StepSamples {
  std::vector<PairedTiming> steps;
  std::vector<std::vector<double>> operators;  // by step
};

/// CPU time of all threads of this process so far.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Threads of a step compute or spin: what they lack of CPU time went to other programs.
Timing time_step(DecodeEngine& engine, double least_cpu_share) {
  engine.rewind();
  const double before = cpu_seconds();
  engine.step();
  const double used = cpu_seconds() - before;
  const double seconds = engine.recorder().step_seconds();
  return {seconds, used < least_cpu_share * seconds * engine.pool().size()};
}

StepSamples sample_steps(DecodeEngine& engine, const std::function<Reference()>& look,
                         const MeasureOptions& options) {
  StepSamples samples;
  time_step(engine, options.least_cpu_share);  // page tables, caches, code
  samples.steps = time_in_pairs(
      look,
      [&] {
        const Timing timing = time_step(engine, options.least_cpu_share);
        samples.operators.push_back(engine.recorder().operator_seconds());
        return timing;
      },
      options.stopping, options.drift_limit);
  return samples;
}

void describe_operators(const DecodeEngine& engine, const std::vector<double>& seconds,
                        StepMeasurement& out) {
  const OperatorList& operators = engine.operators();
  const std::vector<Traffic> bytes = engine.recorder().operator_bytes();
  for (std::size_t i = 0; i < operators.size(); ++i) {
    out.operators.push_back({operators[i].name, operators[i].layer_class, operators[i].count,
                             Seconds{seconds[i]}, bytes[i]});
    out.bytes.weights += bytes[i].weights;
    out.bytes.kv_read += bytes[i].kv_read;
    out.bytes.kv_write += bytes[i].kv_write;
    out.bytes.state += bytes[i].state;
    out.bytes.activations += bytes[i].activations;
  }
}

StepMeasurement measure_point(DecodeEngine& engine, const std::function<Reference()>& look,
                              const MeasureOptions& options) {
  const StepSamples samples = sample_steps(engine, look, options);
  const std::vector<std::size_t> usable = usable_timings(samples.steps);
  const Reference reference = samples.steps[middle_timing(samples.steps, usable)].reference;
  std::vector<double> steps;
  std::vector<std::vector<double>> operators(engine.operators().size());
  for (const std::size_t i : usable) {
    const double scale = samples.steps[i].reference.read_bandwidth / reference.read_bandwidth;
    steps.push_back(samples.steps[i].seconds * scale);
    for (std::size_t op = 0; op < operators.size(); ++op)
      operators[op].push_back(samples.operators[i][op] * scale);
  }
  StepMeasurement measurement;
  measurement.step = summarize(steps);
  measurement.reference_read = {reference.read_bandwidth};
  measurement.reference_dot = {reference.dot_rate};
  const auto unsteady = std::count_if(samples.steps.begin(), samples.steps.end(),
                                      [](const PairedTiming& step) { return !step.steady; });
  measurement.unsteady_steps = static_cast<int>(unsteady);
  measurement.steady = unsteady == 0 || usable.size() < samples.steps.size();
  std::vector<double> medians;
  for (const std::vector<double>& times : operators) medians.push_back(median(times));
  describe_operators(engine, medians, measurement);
  measurement.experts_hit = engine.experts_hit();
  return measurement;
}

}  // namespace

std::vector<StepMeasurement> measure_decode(const ArchitectureSpec& spec,
                                            const std::vector<std::int64_t>& batches,
                                            const std::vector<std::int64_t>& contexts,
                                            const MeasureOptions& options,
                                            const MeasureProgress& progress) {
  if (progress) progress("filling weights", 0.0);
  DecodeEngine engine(spec, options.engine);
  const std::int64_t cache = this_topology().last_level_cache_bytes;
  const RandomSlabs slabs(engine.pool(), cold_slab_bytes(engine.pool().size(), cache));
  const Kernels& kernels = kernels_for(engine.isa());
  const auto look = [&] { return look_at_machine(engine.pool(), kernels, slabs); };
  const auto total = static_cast<double>(batches.size() * contexts.size());
  std::vector<StepMeasurement> measurements;
  for (const std::int64_t context : contexts) {
    for (const std::int64_t batch : batches) {
      if (progress)
        progress(fmt::format("batch {} context {}", batch, context),
                 static_cast<double>(measurements.size()) / total);
      engine.start(batch, context, 1);
      measurements.push_back(measure_point(engine, look, options));
      measurements.back().batch = batch;
      measurements.back().context = context;
    }
  }
  return measurements;
}

}  // namespace roofcast
