#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "microbench/shared/sampling.hpp"
#include "model/reference/decode_engine.hpp"

namespace roofcast {

struct MeasureOptions {
  EngineOptions engine = {};
  StoppingRule stopping = {.min_samples = 20, .half_width = 0.005, .max_seconds = 5.0};
  double drift_limit = DriftRule{}.limit;
  double least_cpu_share = 0.95;  // of the threads' time in a step: less, and other work ran
};

/// One operator of the model's list as measured: all its layers together, per step.
struct OperatorMeasurement {
  std::string_view name;
  int layer_class = -1;
  double count = 1.0;  // layers
  Seconds seconds;     // median over the steps
  Traffic bytes;       // counted by the kernels, not by the model
};

/// Decode steps at one batch and context, as the machine was during the step in the middle: the
/// times of the others are scaled by the plain reads beside them.
struct StepMeasurement {
  std::int64_t batch = 0;
  std::int64_t context = 0;
  TimingSummary step;
  std::vector<OperatorMeasurement> operators;  // in the order of the model's list
  Traffic bytes;                               // of the whole step
  double experts_hit = 0.0;                    // DecodeEngine::experts_hit(), alike in all steps
  BytesPerSecond reference_read;               // around the step in the middle, by all threads
  FlopsPerSecond reference_dot;
  int unsteady_steps = 0;  // during which the machine changed
  bool steady = true;      // false: too few others were left, so those count too
};

/// Told of each point before it is measured, and how much is done (0 .. 1).
using MeasureProgress = std::function<void(std::string_view what, double done)>;

/// Sequences that decode together, and the tokens already in each cache.
struct DecodePoint {
  std::int64_t batch = 1;
  std::int64_t context = 0;
};

/// Every batch x context, contexts outermost.
std::vector<DecodePoint> decode_points(const std::vector<std::int64_t>& batches,
                                       const std::vector<std::int64_t>& contexts);

/// Measures decode steps of `spec` at each point. Every step of a point starts from the same
/// context. Each step stands between two looks at the machine and does
/// not count when they differ, unless few others do. Throws what DecodeEngine throws.
std::vector<StepMeasurement> measure_decode(const ArchitectureSpec& spec,
                                            const std::vector<DecodePoint>& points,
                                            const MeasureOptions& options,
                                            const MeasureProgress& progress);

}  // namespace roofcast
