#include "model/reference/measure_decode.hpp"

#include <fmt/format.h>

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

Timing time_step(DecodeEngine& engine, double least_cpu_share) {
  engine.rewind();
  const double before = process_cpu_seconds();
  engine.step();
  const double used = process_cpu_seconds() - before;
  const double seconds = engine.recorder().step_seconds();
  return {seconds, lacked_cpu(used, seconds, engine.pool().size(), least_cpu_share)};
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

std::vector<DecodePoint> decode_points(const std::vector<std::int64_t>& batches,
                                       const std::vector<std::int64_t>& contexts) {
  std::vector<DecodePoint> points;
  for (const std::int64_t context : contexts)
    for (const std::int64_t batch : batches) points.push_back({batch, context});
  return points;
}

std::vector<StepMeasurement> measure_decode(const ArchitectureSpec& spec,
                                            const std::vector<DecodePoint>& points,
                                            const MeasureOptions& options,
                                            const MeasureProgress& progress) {
  if (progress) progress("filling weights", 0.0);
  DecodeEngine engine(spec, options.engine);
  const std::int64_t cache = this_topology().last_level_cache_bytes;
  const RandomSlabs slabs(engine.pool(), cold_slab_bytes(engine.pool().size(), cache));
  const Kernels& kernels = kernels_for(engine.isa());
  const auto look = [&] { return look_at_machine(engine.pool(), kernels, slabs); };
  std::vector<StepMeasurement> measurements;
  for (const DecodePoint& point : points) {
    if (progress)
      progress(fmt::format("batch {} context {}", point.batch, point.context),
               static_cast<double>(measurements.size()) / static_cast<double>(points.size()));
    engine.start(point.batch, point.context, 1);
    measurements.push_back(measure_point(engine, look, options));
    measurements.back().batch = point.batch;
    measurements.back().context = point.context;
  }
  return measurements;
}

}  // namespace roofcast
