#include "sim/make_cost_model.hpp"

#include <doctest/doctest.h>

#include "tests/relative.hpp"

using namespace roofcast;
using roofcast::test::relative;

namespace {

CalibratedPrimitive attention(const char* name, double flops) {
  CalibratedPrimitive primitive;
  primitive.name = name;
  primitive.bandwidth = BytesPerSecond{20e9};
  if (flops > 0.0) primitive.flops = FlopsPerSecond{flops};
  primitive.t0 = Seconds{2e-6};
  primitive.c1 = Seconds{3e-7};
  primitive.c2 = Seconds{4e-8};
  return primitive;
}

const NarrowAttention& narrow(const CostModel& model, ComputeFormat kind) {
  return model.narrow_attention[static_cast<std::size_t>(kind)];
}

}  // namespace

TEST_CASE("attention on a narrow cache has the constants that were measured of it") {
  Machine machine = load_hardware("nominal/epyc-9654");
  EngineProfile engine;
  CHECK_FALSE(narrow(make_cost_model(machine, engine), ComputeFormat::fp8).measured);
  machine.calibration = Calibration{};
  // int8 with a bandwidth only, as in fits of published kernels.
  machine.calibration->primitives = {attention("attention_fp8", 3e11),
                                     attention("attention_int8", 0.0)};
  engine.launch = LaunchMode::graph;
  const CostModel model = make_cost_model(machine, engine);
  const NarrowAttention& fp8 = narrow(model, ComputeFormat::fp8);
  CHECK(fp8.measured);
  CHECK(fp8.fixed_s == relative(2e-6 + engine.kernel_overhead.value));
  CHECK(fp8.flops == relative(3e11));
  CHECK(fp8.kv_head_s == relative(3e-7));
  CHECK(fp8.head_s == relative(4e-8));
  CHECK_FALSE(narrow(model, ComputeFormat::int8).measured);
  engine.ceilings = CeilingBasis::peak;
  CHECK_FALSE(narrow(make_cost_model(machine, engine), ComputeFormat::fp8).measured);
}
