#include <algorithm>
#include <cmath>

#include "model/operators/decode_step.hpp"
#include "sim/step_estimate.hpp"

namespace roofcast {
namespace {

constexpr std::size_t index_of(TimeShare share) { return static_cast<std::size_t>(share); }

double square(double x) { return x * x; }

/// Half-widths of the 80 % interval of the device time, by kind of operator. Residuals are
/// correlated inside a primitive; between primitives they are independent when each was fitted on
/// its own, and common when all rest on one assumed efficiency.
struct Spread {
  std::array<double, kOperatorKinds> below = {};
  std::array<double, kOperatorKinds> above = {};

  void add(OperatorKind kind, const OperatorCost& cost, double count) {
    below[static_cast<std::size_t>(kind)] += cost.seconds * count * (1.0 - cost.low);
    above[static_cast<std::size_t>(kind)] += cost.seconds * count * (cost.high - 1.0);
  }
};

double combined(const std::array<double, kOperatorKinds>& parts, bool correlated) {
  double sum = 0.0;
  for (const double part : parts) sum += correlated ? part : part * part;
  return correlated ? sum : std::sqrt(sum);
}

/// Step time from device time: the host issues kernels while the device runs, then does its own
/// work. Kernel issue slower than the device hides the device time, and every slope with it.
double step_seconds(double device_s, double host_floor_s, const CostModel& model) {
  return std::max(device_s, host_floor_s) + model.host_per_step_s;
}

void add_scaled(const StepEstimate& step, double weight, StepEstimate& sum) {
  sum.seconds += step.seconds * weight;
  sum.low_s += step.low_s * weight;
  sum.high_s += step.high_s * weight;
  sum.device_s += step.device_s * weight;
  sum.host_floor_s += step.host_floor_s * weight;
  for (std::size_t i = 0; i < sum.shares.size(); ++i) sum.shares[i] += step.shares[i] * weight;
  const Traffic& b = step.work.bytes;
  sum.work.flops += step.work.flops * weight;
  sum.work.bytes.weights += b.weights * weight;
  sum.work.bytes.kv_read += b.kv_read * weight;
  sum.work.bytes.kv_write += b.kv_write * weight;
  sum.work.bytes.state += b.state * weight;
  sum.work.bytes.activations += b.activations * weight;
  sum.work.bytes.collective += b.collective * weight;
}

StepEstimate estimate_pass(const ArchitectureSpec& spec, const StepShape& shape,
                           const CostModel& model, OperatorList& scratch) {
  scratch.clear();
  append_step(spec, shape, scratch);
  return estimate_step(scratch, model);
}

/// A generation longer than this is sampled at the middle of as many equal spans: the step is
/// piecewise linear in context, so a span's middle is its mean but for tile steps.
constexpr std::int64_t kDecodeSamples = 8;
/// A longer prompt is integrated over its passes by Simpson's rule: attention work grows linearly
/// from pass to pass, which the rule sums exactly.
constexpr std::int64_t kPrefillSamples = 4;

}  // namespace

TimeShare StepEstimate::bound() const {
  const auto largest = std::max_element(shares.begin(), shares.end());
  return static_cast<TimeShare>(largest - shares.begin());
}

StepEstimate estimate_step(const OperatorList& operators, const CostModel& model) {
  StepEstimate estimate;
  estimate.work = total_work(operators);
  const double working_set = estimate.work.bytes.memory().value;
  Spread spread;
  double kernels = 0.0;
  double layers = 0.0;
  double floor_s = 0.0;
  int last_class = -1;
  for (const Operator& op : operators) {
    const OperatorCost cost = cost_operator(op, model, working_set);
    estimate.device_s += cost.seconds * op.count;
    spread.add(op.kind, cost, op.count);
    for (std::size_t i = 0; i < cost.shares.size(); ++i)
      estimate.shares[i] += cost.shares[i] * op.count;
    floor_s += least_seconds(op, model, working_set) * op.count;
    kernels += op.count;
    if (op.layer_class >= 0 && op.layer_class != last_class) layers += op.count;
    last_class = op.layer_class;
  }
  estimate.device_s += layers * model.layer_overhead_s;
  estimate.shares[index_of(TimeShare::launch)] += layers * model.layer_overhead_s;

  estimate.host_floor_s = kernels * model.host_per_kernel_s;
  estimate.seconds = step_seconds(estimate.device_s, estimate.host_floor_s, model);
  estimate.shares[index_of(TimeShare::host)] = estimate.seconds - estimate.device_s;

  const double below = std::sqrt(square(combined(spread.below, model.primitives_correlated)) +
                                 square(estimate.device_s * (1.0 - model.time_low)));
  const double above = std::sqrt(square(combined(spread.above, model.primitives_correlated)) +
                                 square(estimate.device_s * (model.time_high - 1.0)));
  const double low_device =
      std::max(estimate.device_s - below, std::min(floor_s, estimate.device_s));
  estimate.low_s = step_seconds(low_device, estimate.host_floor_s, model);
  estimate.high_s = step_seconds(estimate.device_s + above, estimate.host_floor_s, model);
  return estimate;
}

DecodeEstimate estimate_decode(const ArchitectureSpec& spec, const Workload& load,
                               const CostModel& model, OperatorList& scratch) {
  const auto batch = static_cast<double>(load.batch);
  StepShape shape{.sequences = batch, .query_len = 1.0, .context = 0.0, .tp = load.tp};
  DecodeEstimate estimate;
  const std::int64_t samples = std::min(load.output_tokens, kDecodeSamples);
  const double span = static_cast<double>(load.output_tokens) / static_cast<double>(samples);
  if (samples == 1) {
    shape.context = static_cast<double>(load.context);
    estimate.step = estimate_pass(spec, shape, model, scratch);
  } else {
    for (std::int64_t i = 0; i < samples; ++i) {
      const double middle = (static_cast<double>(i) + 0.5) * span - 0.5;
      shape.context = static_cast<double>(load.context) + std::round(middle);
      add_scaled(estimate_pass(spec, shape, model, scratch), 1.0 / static_cast<double>(samples),
                 estimate.step);
    }
  }
  estimate.tokens_per_second = batch / estimate.step.seconds;
  estimate.tokens_per_second_per_user = 1.0 / estimate.step.seconds;
  return estimate;
}

PrefillEstimate estimate_prefill(const ArchitectureSpec& spec, const Workload& load,
                                 const CostModel& model, OperatorList& scratch) {
  const std::int64_t prompt = std::max<std::int64_t>(load.context, 1);
  const std::int64_t chunk =
      model.prefill_chunk > 0 ? std::min(model.prefill_chunk, prompt) : prompt;
  const std::int64_t full = prompt / chunk;
  const std::int64_t rest = prompt % chunk;
  StepEstimate sum;
  const auto add = [&](std::int64_t first_token, std::int64_t tokens, double weight) {
    const StepShape shape{.sequences = 1.0,
                          .query_len = static_cast<double>(tokens),
                          .context = static_cast<double>(first_token),
                          .tp = load.tp};
    add_scaled(estimate_pass(spec, shape, model, scratch), weight, sum);
  };
  if (full <= kPrefillSamples) {
    for (std::int64_t i = 0; i < full; ++i) add(i * chunk, chunk, 1.0);
  } else {
    // The first pass stands alone, since windows are not yet full in it.
    add(0, chunk, 1.0);
    const auto others = static_cast<double>(full - 1);
    add(chunk, chunk, others / 6.0);
    add(full * chunk / 2, chunk, 4.0 * others / 6.0);
    add((full - 1) * chunk, chunk, others / 6.0);
  }
  if (rest > 0) add(full * chunk, rest, 1.0);
  return {.ttft_s = sum.seconds,
          .ttft_low_s = sum.low_s,
          .ttft_high_s = sum.high_s,
          .passes = static_cast<int>(full + (rest > 0 ? 1 : 0))};
}

}  // namespace roofcast
