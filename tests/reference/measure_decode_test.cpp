#include "model/reference/measure_decode.hpp"

#include <doctest/doctest.h>

#include <string>

#include "model/operators/decode_step.hpp"
#include "tests/reference/tiny_spec.hpp"

namespace roofcast {
namespace {

TEST_CASE("points come in order, with every operator of the model's list and its bytes") {
  const ArchitectureSpec spec = spec_of({.n_layers = 3, .qk_norm = true});
  MeasureOptions options;
  options.engine.threads = 2;
  options.stopping = {.min_samples = 3, .half_width = 1.0, .max_seconds = 0.05};
  options.drift_limit = 1e9;  // whatever else the machine runs
  options.least_cpu_share = 0.0;
  std::vector<std::string> seen;
  const auto points =
      measure_decode(spec, decode_points({1, 4}, {0, 40}), options,
                     [&](std::string_view what, double) { seen.emplace_back(what); });
  REQUIRE(points.size() == 4);
  CHECK(seen.size() == 5);
  CHECK(seen.back() == "batch 4 context 40");
  CHECK(points[1].batch == 4);
  CHECK(points[1].context == 0);
  CHECK(points[2].batch == 1);
  CHECK(points[2].context == 40);
  for (const StepMeasurement& p : points) {
    const OperatorList list = decode_step(spec, {.sequences = static_cast<double>(p.batch),
                                                 .context = static_cast<double>(p.context)});
    REQUIRE(p.operators.size() == list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      CHECK(p.operators[i].name == list[i].name);
      CHECK(p.operators[i].count == list[i].count);
      CHECK(p.operators[i].seconds.value > 0.0);
      CHECK(p.operators[i].bytes.weights.value == list[i].bytes.weights.value * list[i].count);
      CHECK(p.operators[i].bytes.kv_read.value == list[i].bytes.kv_read.value * list[i].count);
    }
    CHECK(p.bytes.weights.value == total_work(list).bytes.weights.value);
    CHECK(p.step.samples >= 1);
    CHECK(p.reference_read.value > 0.0);
    CHECK(p.steady);
  }
}

}  // namespace
}  // namespace roofcast
