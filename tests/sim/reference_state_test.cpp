#include "sim/reference_state.hpp"

#include <doctest/doctest.h>

#include "tests/relative.hpp"

using namespace roofcast;
using roofcast::test::relative;

namespace {

Machine calibrated_machine() {
  Machine machine = load_hardware("nominal/epyc-9654");
  Calibration calibration;
  calibration.reference = ReferenceRates{.read = {30e9}, .dot = {400e9}};
  CalibratedPrimitive gemm;
  gemm.name = "gemm_bf16";
  gemm.bandwidth = BytesPerSecond{28e9};
  gemm.flops = FlopsPerSecond{350e9};
  gemm.t0 = Seconds{1e-6};
  calibration.primitives = {gemm};
  machine.calibration = calibration;
  return machine;
}

}  // namespace

TEST_CASE("rates follow the reference of the moment, fixed times do not") {
  // Reads at twice the reference and dot products at half of it: 56 GB/s and 175 GFLOP/s.
  const Machine machine = at_reference(calibrated_machine(), {.read = {60e9}, .dot = {200e9}});
  const CalibratedPrimitive& gemm = machine.calibration->primitives.front();
  CHECK(gemm.bandwidth->value == relative(56e9));
  CHECK(gemm.flops->value == relative(175e9));
  CHECK(gemm.t0->value == relative(1e-6));
}

TEST_CASE("a faster moment raises the peaks that cap every rate, a slower one leaves them") {
  const Machine usual = calibrated_machine();
  const double peak = usual.spec.memory.front().bandwidth.value.value;
  const auto peak_at = [&](double read) {
    return at_reference(usual, {.read = {read}, .dot = {400e9}})
        .spec.memory.front()
        .bandwidth.value.value;
  };
  CHECK(peak_at(60e9) == relative(2.0 * peak));
  CHECK(peak_at(15e9) == relative(peak));
}

TEST_CASE("a machine without a reference stays as it is") {
  Machine machine = calibrated_machine();
  machine.calibration->reference.reset();
  const Machine same = at_reference(machine, {.read = {60e9}, .dot = {200e9}});
  CHECK(same.calibration == machine.calibration);
  CHECK(same.spec == machine.spec);
}
