// Facts about chips that users and tools got wrong in public threads.
#include <doctest/doctest.h>

#include "hardware/src/ceilings.hpp"
#include "hardware/src/machine.hpp"
#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

double bf16_peak(const char* name) {
  return peak_flops(load_machine(name), ComputeFormat::bf16).flops.value;
}

double bandwidth(const char* name) {
  return load_machine(name).memory.front().bandwidth.value.value;
}

TEST_CASE("H100 peaks are the dense ones of each variant") {
  // github.com/qoofyk/LLM_Sizing_Guide/issues/3: PCIe 1513 sparse, 756.5 dense;
  // github.com/deepseek-ai/FlashMLA/issues/75: SXM 1979 sparse, 989 dense;
  // github.com/pytorch/torchtitan/pull/1203: NVL 835 dense.
  CHECK(bf16_peak("h100-pcie") == relative(756.5e12).epsilon(1e-3));
  CHECK(bf16_peak("h100-sxm") == relative(989e12).epsilon(1e-3));
  CHECK(bf16_peak("h100-nvl") == relative(835e12).epsilon(1e-3));
}

TEST_CASE("L40S bf16 is 362, not the 733 with sparsity, and its fp8 is 733") {
  CHECK(bf16_peak("l40s") == relative(362e12).epsilon(1e-3));
  CHECK(peak_flops(load_machine("l40s"), ComputeFormat::fp8).flops.value ==
        relative(733e12).epsilon(1e-3));
}

TEST_CASE("RTX 4090 multiplies fp16 at 165 TFLOP/s with fp32 accumulation") {
  // Ada white paper: 330 with fp16 accumulation, which LLM engines do not use.
  CHECK(bf16_peak("rtx-4090") == relative(165.2e12).epsilon(1e-3));
  CHECK(peak_flops(load_machine("rtx-4090"), ComputeFormat::fp16).flops.value ==
        relative(165.2e12).epsilon(1e-3));
}

TEST_CASE("reads on a GB10 attain the measured 231 to 234 of 273 GB/s") {
  // github.com/antirez/ds4/issues/773, a saturating read kernel.
  CHECK(bandwidth("gb10") == relative(273e9));
  const Machine gb10 = load_hardware("nominal/gb10");
  const double read =
      attainable_ceiling(gb10, Primitive::read, ComputeFormat::bf16).bandwidth.value;
  CHECK(read >= 231e9);
  CHECK(read <= 234e9);
}

TEST_CASE("Llama 3.1 70B in fp8 can't exceed 3.87 tok/s on a GB10") {
  // 70.6 GB of weights per token at 273 GB/s;
  // dreaming.press/posts/dgx-spark-for-local-ai-agents.html measured 2.7, which is 82 % of the
  // attainable 232 GB/s.
  CHECK(bandwidth("gb10") / 70.6e9 == relative(3.87).epsilon(2e-3));
}

TEST_CASE("data-center Blackwell enables 148 SMs, or 152 beside a Grace, of the 160 on the chip") {
  // cudaDeviceProp.multiProcessorCount in public logs: B200 and B300 148, GB200 and GB300 152; 160
  // is the full chip of "Inside NVIDIA Blackwell Ultra".
  for (const char* name : {"b200", "b300"}) CHECK(load_machine(name).compute_units.value == 148);
  for (const char* name : {"gb200", "gb300"}) CHECK(load_machine(name).compute_units.value == 152);
}

TEST_CASE("8-bit integers run at a fifteenth of the fp16 rate on Blackwell Ultra") {
  // Blackwell Ultra data sheet: 330 TOPS sparse on a GB300, whose fp16 is 5 PFLOP/s sparse.
  CHECK(peak_flops(load_machine("gb300"), ComputeFormat::int8).flops.value ==
        relative(bf16_peak("gb300") * 0.330 / 5));
  CHECK(peak_flops(load_machine("b300"), ComputeFormat::int8).flops.value < bf16_peak("b300") / 10);
}

TEST_CASE("a GB10 multiplies bf16 faster than half of GeForce's rate allows") {
  // cuBLASLt GEMMs reach 85 TFLOP/s; half rate would be 48 SMs x 512 x 2.55 GHz = 62.7.
  CHECK(bf16_peak("gb10") == relative(48 * 1024 * 2.55e9).epsilon(5e-3));
}

TEST_CASE("Hopper with six memory stacks has 60 MiB of L2, with five 50") {
  // Device reports in public logs: H20 61440 KiB, H200 and H100 NVL 60 MB, H100 SXM 50 MB.
  for (const char* name : {"h20", "h200", "h200-nvl", "h100-nvl", "gh200-96gb", "gh200-144gb"}) {
    CAPTURE(name);
    CHECK(load_machine(name).cache.size->value.value == relative(60.0 * 1048576));
  }
  CHECK(load_machine("h100-sxm").cache.size->value.value == relative(50.0 * 1048576));
}

TEST_CASE("TPU links move, in one direction, what the documented bisection needs") {
  // Two dimensions of a pod's torus cross the cut twice: v4 16x16x16, 512 links, 24 TB/s; v5e
  // 16x16, 32 links, 1.6 TB/s; v6e 16x16, 32 links, 3.2 TB/s. A chip has 6, 4 and 4 links.
  const auto link = [](const char* name, double links) {
    return load_machine(name).links.front().bandwidth.value.value / links;
  };
  CHECK(link("tpu-v4", 6) == relative(24e12 / 512).epsilon(0.07));
  CHECK(link("tpu-v5e", 4) == relative(1.6e12 / 32));
  CHECK(link("tpu-v6e", 4) == relative(3.2e12 / 32));
}

TEST_CASE("M4 Max is two chips, and M4 Pro is not M3 Ultra") {
  // github.com/youssofal/MTPLX/issues/64: 410 GB/s with 36 GB, 546 GB/s with 48 GB and more.
  CHECK(bandwidth("m4-max-410") == relative(410e9));
  CHECK(load_machine("m4-max-410").memory.front().capacity.value.value ==
        relative(36.0 * 1073741824.0));
  CHECK(bandwidth("m4-max-546") == relative(546e9));
  // github.com/raullenchai/Rapid-MLX/issues/567: 5.1 GB a token bound M4 Pro at 53.5 tok/s and
  // M3 Ultra at 160.6.
  CHECK(bandwidth("m4-pro") / 5.1e9 == relative(53.5).epsilon(2e-3));
  CHECK(bandwidth("m3-ultra") / 5.1e9 == relative(160.6).epsilon(2e-3));
}

TEST_CASE("reads on an RTX 3090 attain about 854 of 936 GB/s") {
  // github.com/ashalliants/ninfer-3090/pull/36: 854.2 GB/s by a read kernel.
  const Machine machine = load_hardware("nominal/rtx-3090");
  CHECK(attainable_ceiling(machine, Primitive::read, ComputeFormat::bf16).bandwidth.value ==
        relative(854.2e9).epsilon(0.01));
}

TEST_CASE("an H100's driver reports 79.18 GiB, an RTX 3090's 23.58 GiB") {
  // llm-d-planner docs/empirical-vllm-memory-results.md; github.com/vllm-project/vllm/issues/10517.
  CHECK(load_machine("h100-sxm").memory.front().usable().value == relative(79.18 * 1073741824.0));
  CHECK(load_machine("rtx-3090").memory.front().usable().value == relative(23.58 * 1073741824.0));
}

}  // namespace
}  // namespace roofcast
