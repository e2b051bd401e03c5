#include "sim/compare_step.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/operators/decode_step.hpp"
#include "sim/report/prediction_report.hpp"
#include "sim/step_estimate.hpp"

namespace roofcast {
namespace {

/// The component that most of the weights of a model are stored as.
Component main_component(const ArchitectureSpec& spec) {
  const bool experts = std::any_of(spec.ffns.begin(), spec.ffns.end(), [](const NamedFfn& ffn) {
    return std::holds_alternative<MoeFfn>(ffn.kind);
  });
  return experts ? Component::routed_experts : Component::attention;
}

}  // namespace

OperatorList operators_of(const ArchitectureSpec& spec, const MeasuredStep& measured) {
  return decode_step(spec, {.sequences = static_cast<double>(measured.batch),
                            .context = static_cast<double>(measured.context),
                            .experts_hit = measured.experts_hit});
}

std::vector<ValidationPoint> compare_step(const ArchitectureSpec& spec,
                                          const MeasuredStep& measured,
                                          const OperatorList& operators, const CostModel& model) {
  const StepEstimate step = estimate_step(operators, model);
  ValidationPoint point;
  point.case_name =
      fmt::format("{} batch {} context {}", spec.name, measured.batch, measured.context);
  point.operator_name = kWholeStep;
  point.kind = kinds_text(spec);
  point.format = formats_text(spec);
  point.batch = measured.batch;
  point.measured_s = measured.seconds;
  point.predicted_s = step.seconds;
  point.low_s = step.low_s;
  point.high_s = step.high_s;
  point.reference_read = measured.reference.read.value;
  std::vector<ValidationPoint> points{point};
  const double working_set = step.work.bytes.memory().value;
  for (std::size_t i = 0; i < operators.size() && i < measured.operator_seconds.size(); ++i) {
    const Operator& op = operators[i];
    const OperatorCost cost = cost_operator(op, model, working_set);
    point.operator_name = std::string(op.name);
    point.measured_s = measured.operator_seconds[i];
    point.predicted_s = cost.seconds * op.count;
    point.low_s = point.predicted_s * cost.low;
    point.high_s = point.predicted_s * cost.high;
    points.push_back(point);
  }
  return points;
}

std::string kinds_text(const ArchitectureSpec& spec) {
  std::string text;
  const auto add = [&](std::string_view kind) {
    if (text.find(kind) == std::string::npos) text.append(text.empty() ? "" : "+").append(kind);
  };
  for (const LayerClass& layer : spec.classes)
    add(kind_name(spec.mixers[static_cast<std::size_t>(layer.layer.mixer)].kind));
  if (main_component(spec) == Component::routed_experts) add("moe");
  return text;
}

std::string formats_text(const ArchitectureSpec& spec) {
  std::string text(spec.formats[main_component(spec)].format.name());
  const Storage bf16 = storage_of(*find_format("bf16"));
  if (spec.formats[Component::k] != bf16 || spec.formats[Component::v] != bf16)
    text += ", KV " + kv_format_text(spec);
  return text;
}

}  // namespace roofcast
