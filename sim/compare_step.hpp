#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/src/calibration.hpp"
#include "model/architecture/architecture_spec.hpp"
#include "sim/cost_model.hpp"
#include "sim/validation.hpp"

namespace roofcast {

/// One decode step as it was measured.
struct MeasuredStep {
  std::int64_t batch = 1;
  std::int64_t context = 0;
  double seconds = 0.0;
  /// In the order of the model's list, all layers together.
  std::vector<double> operator_seconds = {};
  double experts_hit = 0.0;       // distinct experts per layer with experts; 0: none
  ReferenceRates reference = {};  // of the machine around this step
};

/// The model's operators of that step, with the experts that its routing hit.
OperatorList operators_of(const ArchitectureSpec& spec, const MeasuredStep& measured);

/// Points of one measured step beside what `model` predicts for `operators`: the whole step, then
/// each operator that was timed.
std::vector<ValidationPoint> compare_step(const ArchitectureSpec& spec,
                                          const MeasuredStep& measured,
                                          const OperatorList& operators, const CostModel& model);

/// Kinds of attention and state of a model, and "moe" when it has experts: "sliding_window+gqa".
std::string kinds_text(const ArchitectureSpec& spec);

/// Format of the weights and, where it is another, of the cache: "int4", "bf16, KV fp8_e4m3".
std::string formats_text(const ArchitectureSpec& spec);

}  // namespace roofcast
