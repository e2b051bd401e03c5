/// Shows that validation would notice if the model were wrong. Steps are "measured" by hand
/// formulas of their own (bytes of weights and of caches over the bandwidths of a machine, with a
/// scatter of 2 %), never by the model's operators or costs: against these the true model is within
/// its limits, and each wrong one is not.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <variant>

#include "sim/compare_step.hpp"
#include "sim/validation.hpp"
#include "sim/validation_grid.hpp"
#include "tests/sim/ideal_model.hpp"

using namespace roofcast;
using roofcast::test::ideal_model;

namespace {

constexpr double kWeightBandwidth = 34e9;
constexpr double kCacheBandwidth = 32e9;
constexpr double kExpertBandwidth = 30e9;
/// A copy of this machine gets less than a read of the same bytes.
constexpr double kCopyOfRead = 0.8;
constexpr double kBf16 = 2.0;
constexpr ErrorLimits kLimits{.median = 0.05, .p90 = 0.10};

/// E (1 - (1 - k / E)^B) for experts drawn evenly.
double distinct_experts(double experts, double per_token, double batch) {
  return experts * (1.0 - std::pow(1.0 - per_token / experts, batch));
}

/// Cached tokens that one sequence reads in a layer of this kind.
double cached_tokens(const Mixer& mixer, double context) {
  if (const auto* window = std::get_if<SlidingWindowAttention>(&mixer))
    return std::min(context, static_cast<double>(window->window));
  if (const auto* chunk = std::get_if<ChunkedAttention>(&mixer))
    return std::fmod(context, static_cast<double>(chunk->chunk));
  return context;
}

const GqaShape& shape_of(const Mixer& mixer) {
  if (const auto* window = std::get_if<SlidingWindowAttention>(&mixer)) return window->shape;
  if (const auto* chunk = std::get_if<ChunkedAttention>(&mixer)) return chunk->shape;
  return std::get<GroupedQueryAttention>(mixer).shape;
}

double attention_weights(const ArchitectureSpec& spec, const GqaShape& s) {
  const auto q = static_cast<double>(s.n_heads * s.head_dim);
  const auto kv = static_cast<double>(s.n_kv_heads * s.head_dim);
  return static_cast<double>(spec.hidden_dim) * (2.0 * q + 2.0 * kv);
}

/// Seconds of a step: matrices, caches and experts, each at its bandwidth.
double seconds_by_hand(const ArchitectureSpec& spec, double batch, double context,
                       double experts_hit) {
  const auto hidden = static_cast<double>(spec.hidden_dim);
  double weights = hidden * static_cast<double>(spec.vocab_size);
  double cache = 0.0;
  double experts = 0.0;
  for (const Layer& layer : spec.layers) {
    const Mixer& mixer = spec.mixers[static_cast<std::size_t>(layer.mixer)].kind;
    const GqaShape& shape = shape_of(mixer);
    weights += attention_weights(spec, shape);
    cache += batch * cached_tokens(mixer, context) * 2.0 *
             static_cast<double>(shape.n_kv_heads * shape.head_dim);
    const FeedForward& ffn = spec.ffns[static_cast<std::size_t>(layer.ffn)].kind;
    if (const auto* dense = std::get_if<DenseFfn>(&ffn)) {
      weights += 3.0 * hidden * static_cast<double>(dense->ffn_dim);
    } else {
      const auto& moe = std::get<MoeFfn>(ffn);
      experts += experts_hit * 3.0 * hidden * static_cast<double>(moe.expert_dim);
      weights += hidden * static_cast<double>(moe.n_experts) +
                 3.0 * hidden * static_cast<double>(moe.n_shared_experts * moe.shared_expert_dim);
    }
  }
  return kBf16 *
         (weights / kWeightBandwidth + cache / kCacheBandwidth + experts / kExpertBandwidth);
}

double expected_experts(const ArchitectureSpec& spec, double batch) {
  for (const NamedFfn& ffn : spec.ffns)
    if (const auto* moe = std::get_if<MoeFfn>(&ffn.kind))
      return distinct_experts(static_cast<double>(moe->n_experts),
                              static_cast<double>(moe->n_experts_per_token), batch);
  return 0.0;
}

/// The machine that `seconds_by_hand` describes, as constants of the model.
CostModel true_costs() {
  CostModel model = ideal_model(kWeightBandwidth, 1e15);
  const auto set = [&](OperatorKind kind, double bandwidth) {
    model.primitives[static_cast<std::size_t>(kind)].bandwidth.fill(bandwidth);
  };
  set(OperatorKind::attention, kCacheBandwidth);
  set(OperatorKind::moe, kExpertBandwidth);
  set(OperatorKind::elementwise, 1e12);
  for (PrimitiveCost& primitive : model.primitives) {
    primitive.low = filled(0.96);
    primitive.high = filled(1.04);
  }
  model.peak_bandwidth = 40e9;
  return model;
}

/// The cases whose weights and caches are those of `seconds_by_hand`.
bool known_by_hand(const ArchitectureSpec& spec) {
  const bool mixers = std::all_of(spec.mixers.begin(), spec.mixers.end(), [](const NamedMixer& m) {
    return std::holds_alternative<GroupedQueryAttention>(m.kind) ||
           std::holds_alternative<SlidingWindowAttention>(m.kind) ||
           std::holds_alternative<ChunkedAttention>(m.kind);
  });
  return mixers && formats_text(spec) == "bf16";
}

using Change = std::function<void(ArchitectureSpec& spec, MeasuredStep& step,
                                  OperatorList& operators, CostModel& costs)>;

/// The grid's steps as measured by hand beside what a model says that `change` makes wrong.
std::vector<ValidationPoint> validate_with(const Change& change) {
  std::vector<ValidationPoint> steps;
  int count = 0;
  for (const GridCase& row : validation_grid()) {
    const ArchitectureSpec spec = grid_spec(row);
    if (!known_by_hand(spec)) continue;
    for (const GridPoint& point : row.points) {
      const auto batch = static_cast<double>(point.batch);
      MeasuredStep step{.batch = point.batch, .context = point.context};
      step.experts_hit = expected_experts(spec, batch);
      const double scatter = 1.0 + 0.02 * std::sin(1.7 * ++count);
      step.seconds = scatter * seconds_by_hand(spec, batch, static_cast<double>(point.context),
                                               step.experts_hit);
      ArchitectureSpec assumed = spec;
      CostModel costs = true_costs();
      OperatorList operators = operators_of(assumed, step);
      change(assumed, step, operators, costs);
      steps.push_back(compare_step(assumed, step, operators, costs).front());
      steps.back().kind = kinds_text(spec);
    }
  }
  return steps;
}

Verdict verdict_with(const Change& change) {
  const std::vector<ValidationPoint> steps = validate_with(change);
  const Drift steady{.calibrated = 35e9, .slowest = 35e9, .fastest = 35e9, .points = steps.size()};
  return judge(steps, steady, kLimits);
}

void leave_as_it_is(ArchitectureSpec&, MeasuredStep&, OperatorList&, CostModel&) {}

}  // namespace

TEST_CASE("the true model is within its limits on the steps measured by hand") {
  CHECK(verdict_with(leave_as_it_is) == Verdict::ok);
  const ErrorSummary all = summarize(validate_with(leave_as_it_is));
  CHECK(all.n >= 60);
  CHECK(all.p90_abs_error < 0.05);
  CHECK(all.coverage80 > 0.7);
}

TEST_CASE("a model that drops the reads of the cache is above the stated error") {
  CHECK(verdict_with([](ArchitectureSpec&, MeasuredStep&, OperatorList& operators, CostModel&) {
          for (Operator& op : operators) op.bytes.kv_read = {};
        }) == Verdict::above_error);
}

TEST_CASE("a model that counts the experts of one token is above the stated error") {
  CHECK(verdict_with(
            [](ArchitectureSpec& spec, MeasuredStep& step, OperatorList& operators, CostModel&) {
              for (const NamedFfn& ffn : spec.ffns)
                if (const auto* moe = std::get_if<MoeFfn>(&ffn.kind))
                  step.experts_hit = static_cast<double>(moe->n_experts_per_token);
              operators = operators_of(spec, step);
            }) == Verdict::above_error);
}

TEST_CASE("a model that reads whole contexts in windows is above the stated error") {
  CHECK(verdict_with(
            [](ArchitectureSpec& spec, MeasuredStep& step, OperatorList& operators, CostModel&) {
              for (NamedMixer& mixer : spec.mixers)
                if (const auto* window = std::get_if<SlidingWindowAttention>(&mixer.kind))
                  mixer.kind = GroupedQueryAttention{window->shape};
              operators = operators_of(spec, step);
            }) == Verdict::above_error);
}

TEST_CASE("a model that reads whole contexts in chunks is above the stated error") {
  CHECK(verdict_with(
            [](ArchitectureSpec& spec, MeasuredStep& step, OperatorList& operators, CostModel&) {
              for (NamedMixer& mixer : spec.mixers)
                if (const auto* chunk = std::get_if<ChunkedAttention>(&mixer.kind))
                  mixer.kind = GroupedQueryAttention{chunk->shape};
              operators = operators_of(spec, step);
            }) == Verdict::above_error);
}

TEST_CASE("a model that reads at the bandwidth of a copy is above the stated error") {
  CHECK(verdict_with([](ArchitectureSpec&, MeasuredStep&, OperatorList&, CostModel& costs) {
          for (PrimitiveCost& primitive : costs.primitives)
            for (double& bandwidth : primitive.bandwidth) bandwidth *= kCopyOfRead;
        }) == Verdict::above_error);
}
