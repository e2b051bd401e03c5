#include <doctest/doctest.h>

#include <numeric>

#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/catalogue.hpp"
#include "model/operators/decode_step.hpp"
#include "sim/step_estimate.hpp"
#include "tests/relative.hpp"
#include "tests/sim/ideal_model.hpp"

using namespace roofcast;
using roofcast::test::gpu_like_model;
using roofcast::test::ideal_model;
using roofcast::test::relative;

namespace {

const std::vector<ArchitectureSpec>& catalogue() {
  static const std::vector<ArchitectureSpec> specs = [] {
    std::vector<ArchitectureSpec> all;
    for (const std::string& name : architecture_names())
      all.push_back(read_architecture(find_architecture(name)));
    return all;
  }();
  return specs;
}

double step_seconds(const ArchitectureSpec& spec, const Workload& load, const CostModel& model) {
  OperatorList scratch;
  return estimate_decode(spec, load, model, scratch).step.seconds;
}

constexpr double kRounding = 1.0 + 1e-12;

}  // namespace

TEST_CASE("more bandwidth never makes a step slower") {
  for (const ArchitectureSpec& spec : catalogue()) {
    CAPTURE(spec.name);
    CostModel model = gpu_like_model();
    const double before = step_seconds(spec, {.batch = 8, .context = 4096}, model);
    for (PrimitiveCost& primitive : model.primitives)
      for (double& bandwidth : primitive.bandwidth) bandwidth *= 1.5;
    CHECK(step_seconds(spec, {.batch = 8, .context = 4096}, model) <= before);
  }
}

TEST_CASE("a larger batch never shortens a step") {
  for (const ArchitectureSpec& spec : catalogue()) {
    CAPTURE(spec.name);
    for (const CostModel& model : {gpu_like_model(), ideal_model(1e12, 1e14)}) {
      double last = 0.0;
      for (std::int64_t batch = 1; batch <= 1024; batch += 1 + batch / 5) {
        const double seconds = step_seconds(spec, {.batch = batch, .context = 1024}, model);
        CHECK(seconds * kRounding >= last);
        last = seconds;
      }
    }
  }
}

TEST_CASE("operators add up to the step, and so do the shares") {
  const CostModel model = gpu_like_model();
  for (const ArchitectureSpec& spec : catalogue()) {
    CAPTURE(spec.name);
    for (const int tp : {1, 2, 4}) {
      const OperatorList operators =
          decode_step(spec, {.sequences = 16, .query_len = 1, .context = 3000, .tp = tp});
      const double set = total_work(operators).bytes.memory().value;
      double sum = 0.0;
      for (const Operator& op : operators) sum += op.count * cost_operator(op, model, set).seconds;
      const StepEstimate step = estimate_step(operators, model);
      CHECK(step.seconds == relative(sum).epsilon(1e-12));
      CHECK(std::accumulate(step.shares.begin(), step.shares.end(), 0.0) ==
            relative(step.seconds).epsilon(1e-12));
    }
  }
}

TEST_CASE("a step is never faster than its bytes and FLOPs at the data-sheet peaks") {
  for (const ArchitectureSpec& spec : catalogue()) {
    CAPTURE(spec.name);
    for (const CostModel& model : {gpu_like_model(), ideal_model(3.35e12, 989e12)}) {
      OperatorList scratch;
      for (const std::int64_t batch : {1, 32, 512}) {
        const StepEstimate step =
            estimate_decode(spec, {.batch = batch, .context = 8192}, model, scratch).step;
        CHECK(step.seconds * kRounding >= step.work.bytes.memory().value / model.peak_bandwidth);
        CHECK(step.seconds * kRounding >= step.work.flops.value / model.peak_flops[0]);
        CHECK(step.low_s <= step.seconds);
        CHECK(step.high_s >= step.seconds);
        CHECK(step.low_s * kRounding >= step.work.bytes.memory().value / model.peak_bandwidth);
      }
    }
  }
}

TEST_CASE("grouping equal layers gives the same step as layer by layer") {
  const CostModel model = gpu_like_model();
  for (const ArchitectureSpec& spec : catalogue()) {
    CAPTURE(spec.name);
    ArchitectureSpec ungrouped = spec;
    ungrouped.classes.clear();
    for (const Layer& layer : spec.layers) ungrouped.classes.push_back({layer, 1});
    const Workload load{.batch = 5, .context = 2345};
    CHECK(step_seconds(ungrouped, load, model) ==
          relative(step_seconds(spec, load, model)).epsilon(1e-12));
  }
}

TEST_CASE("a slow host hides the device time and every slope with it") {
  const ArchitectureSpec spec = read_architecture(find_architecture("llama-3.1-8b"));
  CostModel model = gpu_like_model();
  // 32 layers x 9 kernels + 4 (embedding, final norm, lm_head, sampling) = 292 kernels at 120 us.
  model.host_per_kernel_s = 120e-6;
  model.host_per_step_s = 1e-3;
  OperatorList scratch;
  const StepEstimate near =
      estimate_decode(spec, {.batch = 1, .context = 128}, model, scratch).step;
  const StepEstimate far =
      estimate_decode(spec, {.batch = 1, .context = 16384}, model, scratch).step;
  CHECK(near.host_floor_s == relative(292 * 120e-6).epsilon(1e-12));
  CHECK(near.seconds == relative(292 * 120e-6 + 1e-3).epsilon(1e-12));
  CHECK(far.seconds == relative(near.seconds).epsilon(1e-12));
  CHECK(far.device_s > near.device_s);
  CHECK(near.bound() == TimeShare::host);
}

TEST_CASE("TPOT over a generation is the mean of its steps") {
  const ArchitectureSpec spec = read_architecture(find_architecture("llama-3.1-8b"));
  OperatorList scratch;
  // The ideal step is linear in context, so the mean over contexts 1000..1099 is that at 1049.5;
  // spans of 12.5 tokens have their middles rounded to whole tokens, hence the tolerance.
  const CostModel model = ideal_model(3.35e12, 1e18);
  const double mean =
      estimate_decode(spec, {.batch = 64, .context = 1000, .output_tokens = 100}, model, scratch)
          .step.seconds;
  const double at_1049 = step_seconds(spec, {.batch = 64, .context = 1049}, model);
  const double at_1050 = step_seconds(spec, {.batch = 64, .context = 1050}, model);
  CHECK(mean == relative((at_1049 + at_1050) / 2).epsilon(2e-4));
  // Up to eight tokens every step is evaluated.
  const double three = estimate_decode(spec, {.batch = 1, .context = 10, .output_tokens = 3},
                                       gpu_like_model(), scratch)
                           .step.seconds;
  double sum = 0.0;
  for (const std::int64_t context : {10, 11, 12})
    sum += step_seconds(spec, {.batch = 1, .context = context}, gpu_like_model());
  CHECK(three == relative(sum / 3).epsilon(1e-12));
}

TEST_CASE("prefill in many chunks integrates to the sum over all chunks") {
  const ArchitectureSpec spec = read_architecture(find_architecture("llama-3.1-8b"));
  CostModel model = ideal_model(3.35e12, 989e12);
  model.prefill_chunk = 512;
  OperatorList scratch;
  const PrefillEstimate whole = estimate_prefill(spec, {.context = 512 * 40 + 100}, model, scratch);
  CHECK(whole.passes == 41);
  double sum = 0.0;
  for (int i = 0; i <= 40; ++i) {
    const double tokens = i < 40 ? 512.0 : 100.0;
    sum +=
        estimate_step(
            decode_step(spec, {.sequences = 1, .query_len = tokens, .context = i * 512.0}), model)
            .seconds;
  }
  CHECK(whole.ttft_s == relative(sum).epsilon(1e-3));
}

TEST_CASE("independent residuals combine by squares, common ones by addition") {
  // Two primitives of 1 s each with a 10 % range: sqrt(0.1^2 + 0.1^2) against 0.2.
  CostModel model = ideal_model(1.0, 1e18);
  for (PrimitiveCost& primitive : model.primitives) {
    primitive.low = filled(0.9);
    primitive.high = filled(1.1);
  }
  model.peak_bandwidth = 1e18;
  Operator a;
  a.kind = OperatorKind::gemm;
  a.shape.m = a.shape.n = a.shape.k = 1.0;
  a.bytes.weights = {1.0};
  Operator b;
  b.kind = OperatorKind::elementwise;
  b.bytes.activations = {1.0};
  const StepEstimate independent = estimate_step({a, b}, model);
  CHECK(independent.high_s - 2.0 == relative(0.1414214).epsilon(1e-6));
  CHECK(2.0 - independent.low_s == relative(0.1414214).epsilon(1e-6));
  model.primitives_correlated = true;
  CHECK(estimate_step({a, b}, model).high_s - 2.0 == relative(0.2).epsilon(1e-6));
}
