// Figures of vendors' data sheets, typed for this test and not copied from hardware/*.yaml, so that
// a slip in either shows. Dense 16-bit rate (fp32 accumulation), memory bandwidth, memory as sold.
#include <doctest/doctest.h>

#include <array>
#include <set>
#include <string>

#include "hardware/src/machine.hpp"
#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

struct Row {
  const char* name;
  double tflops_16bit;
  double gigabytes_per_second;
  double gigabytes;
};

constexpr double kGiB = 1.073741824;  // in GB

// clang-format off
constexpr std::array kDataSheets = {
    Row{"v100-sxm2-16gb", 125, 900, 16},     Row{"v100-sxm2-32gb", 125, 900, 32},
    Row{"v100-pcie-16gb", 112, 900, 16},     Row{"v100-pcie-32gb", 112, 900, 32},
    Row{"t4", 65, 320, 16},                  // 65 FP16, "320+ GB/s"
    Row{"a100-sxm-80gb", 312, 2039, 80},     Row{"a100-pcie-80gb", 312, 1935, 80},
    Row{"a100-sxm-40gb", 312, 1555, 40},     Row{"a100-pcie-40gb", 312, 1555, 40},
    Row{"a10", 125, 600, 24},                Row{"a10g", 70, 600, 24},  // "70 TF | 140 TF*"
    Row{"a30", 165, 933, 24},                Row{"a40", 149.7, 696, 48},
    Row{"rtx-a6000", 154.8, 768, 48},        // 309.7 with sparsity
    Row{"rtx-3090", 71, 936, 24},            Row{"rtx-3080-ti", 68.2, 912, 12},
    Row{"rtx-3090-ti", 80, 1008, 24},
    Row{"l4", 121, 300, 24},                 // "242 TFLOPS*"
    Row{"l40", 181, 864, 48},                Row{"l40s", 362, 864, 48},
    Row{"rtx-4060-ti-8gb", 44, 288, 8},      Row{"rtx-4060-ti-16gb", 44, 288, 16},
    Row{"rtx-4070-ti", 80.2, 504, 12},       Row{"rtx-4080", 97.5, 716.8, 16},
    Row{"rtx-4090", 165.2, 1008, 24},        Row{"rtx-6000-ada", 364.2, 960, 48},
    Row{"rtx-5000-ada", 261.1, 576, 32},     Row{"rtx-4000-ada", 106.9, 360, 20},
    Row{"h100-sxm", 989.5, 3350, 80},        // "1,979 teraFLOPS*"
    Row{"h100-pcie", 756.5, 2039, 80},       // "1,513 teraFLOPS*"
    Row{"h100-nvl", 835, 3900, 94},          // "1,671 teraFLOPS*" a GPU
    Row{"h200", 989.5, 4800, 141},           Row{"h200-nvl", 835.5, 4800, 141},
    Row{"h800", 989.5, 3350, 80},            Row{"h20", 148, 4000, 96},
    Row{"gh200-96gb", 990, 4000, 96},        Row{"gh200-144gb", 990, 4900, 144},
    Row{"b200", 2250, 7700, 180},            Row{"b300", 2250, 7700, 288},  // "7.7 TB/s" (HGX)
    Row{"gb200", 2500, 8000, 186},           Row{"gb300", 2500, 8000, 288},
    Row{"rtx-5080", 112.6, 960, 16},         Row{"rtx-5090", 209.5, 1792, 32},
    Row{"rtx-pro-6000", 503.8, 1792, 96},    Row{"gb10", 125, 273, 128},
    Row{"mi100", 92.3, 1228.8, 32},          // bf16; fp16 is 184.6
    Row{"mi210", 181, 1638.4, 64},
    Row{"mi250", 362.1, 3276.8, 128},        Row{"mi250x", 383, 3276.8, 128},
    Row{"mi250x-gcd", 191.5, 1638.4, 64},
    Row{"mi300x", 1307.4, 5300, 192},        Row{"mi325x", 1307.4, 6000, 256},
    Row{"mi350x", 2307, 8000, 288},          Row{"mi355x", 2517, 8000, 288},
    Row{"rx-6900-xt", 46.08, 512, 16},       Row{"rx-7900-xtx", 122.8, 960, 24},
    Row{"strix-halo", 59.4, 256, 128},
    Row{"gaudi2", 432, 2460, 96},            Row{"gaudi3", 1835, 3670, 128},
    Row{"arc-b580", 116.5, 456, 12},         Row{"arc-pro-b60", 98.5, 456, 24},
    Row{"tpu-v4", 275, 1200, 32 * kGiB},     Row{"tpu-v5e", 197, 819, 16},
    Row{"tpu-v5p", 459, 2765, 95 * kGiB},    Row{"tpu-v6e", 918, 1638, 32},
    Row{"m1", 2.6, 68.25, 16 * kGiB},        Row{"m1-pro", 5.2, 200, 32 * kGiB},
    Row{"m1-max", 10.4, 400, 64 * kGiB},     Row{"m1-ultra", 21, 800, 128 * kGiB},
    Row{"m2", 3.6, 100, 24 * kGiB},          Row{"m2-pro", 6.8, 200, 32 * kGiB},
    Row{"m2-max", 13.6, 400, 96 * kGiB},     Row{"m2-ultra", 27.2, 800, 192 * kGiB},
    Row{"m3-max-300", 10.7, 300, 96 * kGiB}, Row{"m3-max-400", 14.3, 400, 128 * kGiB},
    Row{"m3-ultra", 28.6, 819, 512 * kGiB},
    Row{"m4", 4.04, 120, 32 * kGiB},         Row{"m4-pro", 8.08, 273, 64 * kGiB},
    Row{"m4-max-410", 12.9, 410, 36 * kGiB}, Row{"m4-max-546", 16.2, 546, 128 * kGiB},
    // CPUs: 64 bf16 FLOP per core and clock on Zen 4 (fp32 32, Zen 5 twice both), 1024 with AMX, at
    // base clocks; DDR channels x rate x 8 B; 64 GB (7950X: 32 GB) a channel.
    Row{"epyc-9654", 14.75, 460.8, 768},     Row{"epyc-9654-2s", 29.5, 921.6, 1536},
    Row{"epyc-9554", 12.7, 460.8, 768},      Row{"epyc-7763", 5.02, 204.8, 512},
    Row{"epyc-9755", 44.2, 614.4, 768},      Row{"ryzen-7950x", 4.61, 83.2, 64},
    Row{"xeon-8480p", 114.7, 307.2, 512},    Row{"xeon-8480p-2s", 229.4, 614.4, 1024},
    Row{"graviton4", 8.6, 537.6, 768},
};
// clang-format on
static_assert(kDataSheets.size() >= 52);

TEST_CASE("machine files agree with the data sheets on 16-bit rate, bandwidth and capacity") {
  for (const Row& row : kDataSheets) {
    CAPTURE(row.name);
    const MachineSpec machine = load_machine(std::string("nominal/") + row.name);
    // 0.5 %: sheets round, and this table does.
    CHECK(peak_flops(machine, ComputeFormat::bf16).flops.value ==
          relative(row.tflops_16bit * 1e12).epsilon(0.005));
    const MemoryTier& memory = machine.memory.front();
    CHECK(memory.bandwidth.value.value == relative(row.gigabytes_per_second * 1e9).epsilon(0.005));
    CHECK(memory.capacity.value.value == relative(row.gigabytes * 1e9).epsilon(0.005));
  }
}

TEST_CASE("the table of data sheets covers every shipped machine") {
  std::set<std::string> typed;
  for (const Row& row : kDataSheets) typed.insert(row.name);
  for (const std::string& name : list_machines()) {
    CAPTURE(name);
    CHECK(typed.count(name) == 1);
  }
}

}  // namespace
}  // namespace roofcast
