#include "hardware/src/ceilings.hpp"

#include <doctest/doctest.h>

#include "hardware/src/machine.hpp"
#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

constexpr std::array kFormats = {ComputeFormat::fp32, ComputeFormat::fp16, ComputeFormat::bf16,
                                 ComputeFormat::fp8,  ComputeFormat::int8, ComputeFormat::fp4,
                                 ComputeFormat::int4};

CalibratedPrimitive primitive(const char* name, double bandwidth, double flops) {
  CalibratedPrimitive result;
  result.name = name;
  if (bandwidth > 0) result.bandwidth = BytesPerSecond{bandwidth};
  if (flops > 0) result.flops = FlopsPerSecond{flops};
  return result;
}

Machine calibrated_h100(std::vector<CalibratedPrimitive> primitives) {
  Machine machine = load_hardware("nominal/h100-sxm");
  Calibration calibration;
  calibration.device_kind = "cuda";
  calibration.provenance.device = "H100";
  calibration.provenance.date = "2026-11-30";
  calibration.primitives = std::move(primitives);
  machine.calibration = calibration;
  return machine;
}

TEST_CASE("no ceiling of any shipped machine is above the data sheet's peaks") {
  for (const std::string& name : list_machines()) {
    CAPTURE(name);
    const Machine machine = load_hardware("nominal/" + name);
    for (const ComputeFormat format : kFormats) {
      const Ceiling ideal = ideal_ceiling(machine, format);
      CHECK(ideal.bandwidth == machine.spec.memory.front().bandwidth.value);
      for (std::size_t i = 0; i < kPrimitives; ++i) {
        const Ceiling ceiling = attainable_ceiling(machine, static_cast<Primitive>(i), format);
        CHECK(ceiling.bandwidth.value > 0.0);
        CHECK(ceiling.flops.value > 0.0);
        CHECK(ceiling.bandwidth <= ideal.bandwidth);
        CHECK(ceiling.io_bandwidth <= ideal.bandwidth);
        CHECK(ceiling.flops <= ideal.flops);
        CHECK(ceiling.t0_stream.value > 0.0);
        CHECK(ceiling.origin.starts_with("generation "));
      }
    }
  }
}

TEST_CASE("an uncalibrated H100 reads at 0.93 of 3.35 TB/s") {
  const Machine machine = load_hardware("nominal/h100-sxm");
  const Ceiling read = attainable_ceiling(machine, Primitive::read, ComputeFormat::bf16);
  CHECK(read.bandwidth.value == relative(0.93 * 3.35e12));
  CHECK_FALSE(read.calibrated);
  CHECK(read.origin.starts_with("generation hopper: "));
}

TEST_CASE("defaults of an H100 GEMM lie near the constants fitted to two libraries") {
  // Fits of H100 vLLM and TRT-LLM bf16: 3136 and 2928 GB/s, 971 and 989 TFLOP/s, 1.19 and 1.24 us.
  const Ceiling gemm =
      attainable_ceiling(load_hardware("nominal/h100-sxm"), Primitive::gemm, ComputeFormat::bf16);
  CHECK(gemm.bandwidth.value == relative(3032e9).epsilon(0.05));
  CHECK(gemm.flops.value == relative(971e12).epsilon(0.05));
  CHECK(gemm.c_k.value == relative(1.22e-6).epsilon(0.05));
}

TEST_CASE("8-bit KV reads slower per byte than 16-bit KV where kernels convert it") {
  const Machine machine = load_hardware("nominal/h100-sxm");
  CHECK(attainable_ceiling(machine, Primitive::attention, ComputeFormat::fp8).bandwidth <
        attainable_ceiling(machine, Primitive::attention, ComputeFormat::bf16).bandwidth);
}

TEST_CASE("a calibrated primitive replaces the defaults, fixed times included") {
  CalibratedPrimitive gemm = primitive("gemm_bf16", 3.0e12, 800e12);
  gemm.t0 = Seconds{2e-6};
  gemm.low = 0.95;
  gemm.high = 1.04;
  const Ceiling ceiling =
      attainable_ceiling(calibrated_h100({gemm}), Primitive::gemm, ComputeFormat::bf16);
  CHECK(ceiling.calibrated);
  CHECK(ceiling.bandwidth.value == 3.0e12);
  CHECK(ceiling.flops.value == 800e12);
  CHECK(ceiling.t0_stream.value == 2e-6);
  CHECK(ceiling.t0_graph.value == 2e-6);
  CHECK(ceiling.c_k.value == 0.0);
  CHECK(ceiling.low == 0.95);
  CHECK(ceiling.high == 1.04);
  CHECK(ceiling.origin == "calibrated gemm_bf16 (H100, 2026-11-30)");
}

TEST_CASE("a primitive that was not measured follows the measured read") {
  // Read measured at half of the default: the MoE default halves too.
  const Machine nominal = load_hardware("nominal/h100-sxm");
  const double read =
      attainable_ceiling(nominal, Primitive::read, ComputeFormat::bf16).bandwidth.value;
  const Machine machine = calibrated_h100({primitive("read", read / 2, 0)});
  const Ceiling before = attainable_ceiling(nominal, Primitive::moe, ComputeFormat::bf16);
  const Ceiling after = attainable_ceiling(machine, Primitive::moe, ComputeFormat::bf16);
  CHECK(after.bandwidth.value == relative(before.bandwidth.value / 2));
  CHECK(after.io_bandwidth.value == relative(before.io_bandwidth.value / 2));
  CHECK(after.flops == before.flops);
  CHECK(after.origin.starts_with("calibrated read (H100, 2026-11-30) x the ratio of generation"));
}

TEST_CASE("a state streams like a read where nobody measured it, and as measured where one did") {
  const Machine nominal = load_hardware("nominal/h100-sxm");
  const Ceiling read = attainable_ceiling(nominal, Primitive::read, ComputeFormat::bf16);
  const Ceiling state = attainable_ceiling(nominal, Primitive::state, ComputeFormat::fp32);
  CHECK(state.bandwidth == read.bandwidth);
  CHECK(state.low == read.low);
  CHECK(state.high == read.high);
  const Machine machine = calibrated_h100({primitive("state_fp32", 2e12, 0)});
  CHECK(attainable_ceiling(machine, Primitive::state, ComputeFormat::fp32).bandwidth.value == 2e12);
  CHECK(attainable_ceiling(machine, Primitive::state, ComputeFormat::fp32).calibrated);
  CHECK(!attainable_ceiling(machine, Primitive::state, ComputeFormat::bf16).calibrated);
}

TEST_CASE("a fit above the peak is cut to the peak") {
  // Fitted bandwidth and compute trade off: a published A100 MoE fit gives 2.3 TB/s of 2.04.
  const Machine machine = calibrated_h100({primitive("moe_bf16", 5e12, 2e15)});
  const Ceiling ceiling = attainable_ceiling(machine, Primitive::moe, ComputeFormat::bf16);
  CHECK(ceiling.bandwidth.value == 3.35e12);
  CHECK(ceiling.flops.value == relative(989.4e12));
}

TEST_CASE("experts in a format that was not measured follow the ratio of plain products") {
  CalibratedPrimitive narrow = primitive("gemm_int4", 1.5e12, 300e12);
  narrow.low = 0.9;
  narrow.high = 1.2;
  CalibratedPrimitive experts = primitive("moe_bf16", 2e12, 500e12);
  experts.low = 0.8;
  experts.high = 1.1;
  experts.t0 = Seconds{3e-6};
  const std::vector<CalibratedPrimitive> measured = {primitive("gemm_bf16", 3e12, 600e12), narrow,
                                                     experts};
  // Half of 16-bit products in bandwidth and in FLOP/s.
  const Ceiling ceiling =
      attainable_ceiling(calibrated_h100(measured), Primitive::moe, ComputeFormat::int4);
  CHECK(ceiling.calibrated);
  CHECK(ceiling.bandwidth.value == relative(1e12));
  CHECK(ceiling.flops.value == relative(250e12));
  CHECK(ceiling.t0_stream.value == relative(3e-6));
  CHECK(ceiling.low == relative(0.72));
  CHECK(ceiling.high == relative(1.32));
  CHECK(ceiling.origin == "calibrated moe_bf16 x gemm_int4 / gemm_bf16 (H100, 2026-11-30)");
  // Without the plain product of the format there is no ratio.
  CHECK_FALSE(
      attainable_ceiling(calibrated_h100(measured), Primitive::moe, ComputeFormat::fp8).calibrated);
}

}  // namespace
}  // namespace roofcast
