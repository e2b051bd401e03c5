#include "model/reference/measure_decode.hpp"

#include <fmt/format.h>

#include "microbench/shared/region_timer.hpp"
#include "model/reference/cpu/topology.hpp"

namespace roofcast {
namespace {

/// Steps and their operators' times, by operator then step.
struct StepSamples {
  TimingSummary step;
  std::vector<std::vector<double>> operators;
};

StepSamples sample_steps(DecodeEngine& engine, const StoppingRule& rule) {
  StepSamples samples;
  samples.operators.resize(engine.recorder().operator_seconds().size());
  const auto one_step = [&] {
    engine.rewind();
    engine.step();
    return engine.recorder().step_seconds();
  };
  one_step();
  samples.step = sample_until_settled(
      [&] {
        const double seconds = one_step();
        for (std::size_t i = 0; i < samples.operators.size(); ++i)
          samples.operators[i].push_back(engine.recorder().operator_seconds()[i]);
        return seconds;
      },
      rule);
  return samples;
}

void describe_operators(const DecodeEngine& engine, const StepSamples& samples,
                        StepMeasurement& out) {
  const OperatorList& operators = engine.operators();
  const std::vector<Traffic> bytes = engine.recorder().operator_bytes();
  for (std::size_t i = 0; i < operators.size(); ++i) {
    out.operators.push_back({operators[i].name, operators[i].layer_class, operators[i].count,
                             Seconds{median(samples.operators[i])}, bytes[i]});
    out.bytes.weights += bytes[i].weights;
    out.bytes.kv_read += bytes[i].kv_read;
    out.bytes.kv_write += bytes[i].kv_write;
    out.bytes.state += bytes[i].state;
    out.bytes.activations += bytes[i].activations;
  }
}

StepMeasurement measure_point(DecodeEngine& engine, const std::function<Reference()>& look,
                              const MeasureOptions& options) {
  StepSamples samples;
  const SteadyTiming timing = time_steadily(
      look,
      [&] {
        samples = sample_steps(engine, options.stopping);
        return samples.step;
      },
      options.drift);
  StepMeasurement measurement;
  measurement.step = timing.timing;
  measurement.reference_read = {timing.reference.read_bandwidth};
  measurement.reference_dot = {timing.reference.dot_rate};
  measurement.redone = timing.redone;
  measurement.steady = timing.steady;
  describe_operators(engine, samples, measurement);
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
