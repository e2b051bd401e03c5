#include "hardware/src/machine_spec.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "hardware/src/machine.hpp"
#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

TEST_CASE("8-bit floats on a chip without units for them multiply at the 16-bit rate") {
  // A100: 312 TFLOP/s bf16 dense, no fp8; its int8 peak of 624 does not stand in.
  const PeakFlops peak = peak_flops(load_machine("nominal/a100-sxm-80gb"), ComputeFormat::fp8);
  CHECK(peak.format == ComputeFormat::bf16);
  CHECK(peak.flops.value == relative(312e12));
}

TEST_CASE("bf16 on a chip that only has fp16 multiplies at the fp16 rate") {
  // V100 SXM2: 125 TFLOP/s in fp16, no bf16.
  const PeakFlops peak = peak_flops(load_machine("nominal/v100-sxm2-32gb"), ComputeFormat::bf16);
  CHECK(peak.format == ComputeFormat::fp16);
  CHECK(peak.flops.value == relative(125e12));
}

TEST_CASE("bf16 on a chip with vector units only multiplies at the fp32 rate") {
  // Graviton 4: 96 cores x 4 pipes x 4 lanes x 2 x 2.8 GHz.
  const PeakFlops peak = peak_flops(load_machine("nominal/graviton4"), ComputeFormat::bf16);
  CHECK(peak.format == ComputeFormat::fp32);
  CHECK(peak.flops.value == relative(96.0 * 4 * 4 * 2 * 2.8e9).epsilon(1e-3));
}

TEST_CASE("a format with units of its own keeps its peak") {
  const PeakFlops peak = peak_flops(load_machine("nominal/b200"), ComputeFormat::fp4);
  CHECK(peak.format == ComputeFormat::fp4);
  CHECK(peak.flops.value == relative(9e15));
}

TEST_CASE("nothing stands in for fp64") {
  CHECK_THROWS_AS(peak_flops(load_machine("nominal/rtx-4090"), ComputeFormat::fp64),
                  std::invalid_argument);
}

TEST_CASE("links are found by what they connect to") {
  const MachineSpec machine = load_machine("nominal/h100-sxm");
  REQUIRE(find_link(machine, LinkScope::node) != nullptr);
  CHECK(find_link(machine, LinkScope::node)->name == "nvlink4");
  REQUIRE(find_link(machine, LinkScope::host) != nullptr);
  CHECK(find_link(machine, LinkScope::host)->name == "pcie5x16");
  CHECK(find_link(machine, LinkScope::scale_out) == nullptr);
}

TEST_CASE("usable capacity is the driver's figure, else the capacity as sold") {
  MemoryTier tier{.name = "hbm",
                  .capacity = {.value = {80e9}, .source = "x", .formula = ""},
                  .usable_capacity = std::nullopt,
                  .bandwidth = {.value = {1e12}, .source = "x", .formula = ""}};
  CHECK(tier.usable().value == 80e9);
  tier.usable_capacity = Sourced<Bytes>{{85e9}, "x", ""};
  CHECK(tier.usable().value == 85e9);
}

}  // namespace
}  // namespace roofcast
