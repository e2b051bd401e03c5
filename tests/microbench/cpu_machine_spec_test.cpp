#include "microbench/cpu_machine_spec.hpp"

#include <doctest/doctest.h>

#include "hardware/src/calibration.hpp"

namespace roofcast {
namespace {

TEST_CASE("CPU names become file names") {
  CHECK(cpu_slug("AMD EPYC 9554 64-Core Processor", 64) == "amd-epyc-9554-64-core-processor-64c");
  CHECK(cpu_slug("Intel(R) Xeon(R) @ 2.10GHz", 8) == "intel-r-xeon-r-2-10ghz-8c");
  CHECK(cpu_slug("", 2) == "cpu-2c");
  CHECK(cpu_slug("!!", 2) == "cpu-2c");
}

Topology some_topology() {
  Topology t;
  t.cpu_model = "AMD EPYC";
  t.last_level_cache_bytes = 32 << 20;
  t.memory_bytes = 25'000'000'000;
  return t;
}

TEST_CASE("a measured CPU is described as a machine file that reads back") {
  const MachineSpec machine =
      describe_cpu(some_topology(), 2, IsaLevel::avx512_bf16, {52e9, 460e9}, "2026-11-30");
  CHECK(machine.generation == "zen4");
  CHECK(machine.memory.front().bandwidth.value.value == 52e9);
  CHECK(peak_flops(machine, ComputeFormat::bf16).flops.value == 460e9);
  CHECK(peak_flops(machine, ComputeFormat::fp32).flops.value == 230e9);
  Calibration calibration;
  calibration.device_kind = "cpu";
  calibration.provenance.device = "AMD EPYC";
  calibration.provenance.date = "2026-11-30";
  CalibratedPrimitive read;
  read.name = "read";
  read.bandwidth = BytesPerSecond{50e9};
  calibration.primitives.push_back(read);
  const std::string text = write_calibration_yaml(calibration, machine);
  const Document document = parse_yaml(text, "test.yaml");
  CHECK(read_calibration(document) == calibration);
}

TEST_CASE("a CPU that the generations do not know gets the general one") {
  const MachineSpec machine =
      describe_cpu(some_topology(), 2, IsaLevel::avx2, {52e9, 100e9}, "2026-11-30");
  CHECK(machine.generation == "cpu");
  CHECK(peak_flops(machine, ComputeFormat::fp32).flops.value == 100e9);
}

}  // namespace
}  // namespace roofcast
