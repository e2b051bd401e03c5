#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "microbench/cpu_attention/cpu_attention.hpp"
#include "microbench/cpu_barrier/cpu_barrier.hpp"
#include "microbench/cpu_elementwise/cpu_elementwise.hpp"
#include "microbench/cpu_gemm/cpu_gemm.hpp"
#include "microbench/cpu_mla/cpu_mla.hpp"
#include "microbench/cpu_moe/cpu_moe.hpp"
#include "microbench/cpu_read/cpu_read.hpp"
#include "microbench/cpu_state/cpu_state.hpp"
#include "microbench/cpu_write/cpu_write.hpp"

namespace roofcast {
namespace {

constexpr StoppingRule kBrief{.min_samples = 2, .half_width = 1.0, .max_seconds = 0.01};

TEST_CASE("every CPU benchmark runs, and counts bytes and FLOPs as the model's operators do") {
  CpuEnvironment environment(2, std::nullopt, 0);
  const CpuBench read = cold_read_bench(environment, 1 << 20);
  CHECK(read.bytes == 1048576.0);
  const CpuBench hot = hot_read_bench(environment, 1 << 20);
  // W 48 x 64, x 3 x 64, y 3 x 48 in bf16; 2 x 3 x 48 x 64 FLOPs.
  const CpuBench gemm = gemm_bench(environment, {48, 64, 3});
  CHECK(gemm.bytes == 2.0 * (48 * 64 + 3 * 64 + 3 * 48));
  CHECK(gemm.flops == 18432.0);
  // Two blocks of 34 bytes in each of the 48 rows.
  const CpuBench int8 = gemm_bench(environment, {48, 64, 3, find_weight_format("q8_0").value()});
  CHECK(int8.benchmark == "gemm_int8");
  CHECK(int8.bytes == 48 * 2 * 34 + 2.0 * (3 * 64 + 3 * 48));
  CHECK(int8.flops == gemm.flops);
  const CpuBench fp8 = gemm_bench(environment, {48, 64, 3, find_weight_format("fp8_e4m3").value()});
  CHECK(fp8.benchmark == "gemm_fp8");
  // 2 sequences x 100 tokens x K and V of 2 heads x 32, and q and out of 4 heads x 32.
  const CpuBench attention = attention_bench(environment, {2, 4, 2, 32, 100});
  CHECK(attention.bytes == 2.0 * (2 * 100 * 2 * 2 * 32 + 2 * 2 * 4 * 32));
  CHECK(attention.flops == 4.0 * 2 * 4 * 32 * 101);
  CHECK(attention.work1 == 2.0);  // 2 sequences x 2 kv heads / 2 cores
  CHECK(attention.work2 == 4.0);
  // 3 sequences x (100 latents of 64 + 16, and 5 heads' queries of 80 and outputs of 64).
  const CpuBench mla = mla_bench(environment, {3, 5, 64, 16, 100});
  CHECK(mla.bytes == 2.0 * 3 * (100 * 80 + 5 * (80 + 64)));
  CHECK(mla.flops == 2.0 * 3 * 5 * (80 + 64) * 101);
  CHECK(mla.work1 == 1.5);  // 3 sequences x 1 block of heads / 2 cores
  // The same with a byte per cached element, in pages and in order.
  const CpuBench bytes = attention_bench(environment, {2, 4, 2, 32, 100, KvCode::fp8_e4m3, 16});
  CHECK(bytes.benchmark == "attention_fp8");
  CHECK(bytes.bytes == 2.0 * (100 * 2 * 2 * 32 + 2.0 * 2 * 4 * 32));
  CHECK(bytes.flops == attention.flops);
  const CpuBench integers = attention_bench(environment, {2, 4, 2, 32, 100, KvCode::int8});
  CHECK(integers.benchmark == "attention_int8");
  CHECK(integers.bytes == bytes.bytes);
  // Two of two experts whatever the scores: 3 matrices of 64 x 32 each; 5 x 2 pairs of 2 x 64 and
  // 3 x 32 values, and 5 tokens in and out.
  const CpuBench moe = moe_bench(environment, {2, 2, 64, 32, 5});
  CHECK(moe.bytes == 2.0 * (2 * 3 * 64 * 32 + 10 * (2 * 64 + 3 * 32) + 2 * 5 * 64));
  CHECK(moe.flops == 2.0 * 10 * 3 * 64 * 32);
  for (const CpuBench& bench :
       {read, hot, gemm, int8, fp8, attention, mla, bytes, integers, moe,
        norm_bench(environment, 3, 64), activation_bench(environment, 3, 100),
        rotary_bench(environment, 2, 3, 32), barrier_bench(environment)}) {
    CAPTURE(bench.benchmark);
    CHECK(time_nodes(environment.pool, bench.work, kBrief).median_s > 0.0);
  }
  CHECK(time_region(environment, kBrief).median_s > 0.0);
  const Reference reference = environment.look();
  CHECK(reference.read_bandwidth > 1e6);
  CHECK(reference.dot_rate > 1e6);
}

TEST_CASE("states count as read and written once, and come to hold what was written") {
  CpuEnvironment environment(2, std::nullopt, 0);
  // 2 x 3 sequences x 4 heads x 8 x 16 elements of 4 bytes; keys and queries of 2 heads x 8, values
  // and outputs of 4 heads x 16 in bf16.
  const CpuBench wide =
      state_bench(environment, {3, 4, 2, 8, 16, StateRule::delta, StateFormat::fp32});
  CHECK(wide.bytes == 2.0 * 3 * 4 * 8 * 16 * 4 + 2.0 * 3 * (2 * 2 * 8 + 2 * 4 * 16));
  CHECK(wide.flops == 7.0 * 3 * 4 * 8 * 16);
  const CpuBench narrow =
      state_bench(environment, {3, 4, 2, 8, 16, StateRule::linear, StateFormat::bf16});
  CHECK(narrow.bytes == 2.0 * 3 * 4 * 8 * 16 * 2 + 2.0 * 3 * (2 * 2 * 8 + 2 * 4 * 16));
  CHECK(narrow.flops == 5.0 * 3 * 4 * 8 * 16);
  // 3 kept inputs of 5 sequences x 100 channels in and out; 4 taps; inputs and outputs.
  const CpuBench convolution = convolution_bench(environment, {5, 100, 4});
  CHECK(convolution.bytes == 2.0 * (2 * 5 * 100 * 3 + 100 * 4 + 2 * 5 * 100));
  for (const CpuBench& bench : {wide, narrow, convolution}) {
    CAPTURE(bench.label);
    CHECK(time_nodes(environment.pool, bench.work, kBrief).median_s > 0.0);
  }
  const auto bytes = static_cast<std::size_t>(6 * 8 * 16) * sizeof(float);
  std::memset(environment.targets.window(1, bytes, 7), 0, bytes);
  environment.pool.run([&](int thread) { wide.work(thread, 7); });
  float element = 0.0F;
  std::memcpy(&element, environment.targets.window(1, bytes, 7), sizeof element);
  CHECK(element != 0.0F);
  CHECK(std::abs(element) < 1.0F);
  CHECK_THROWS_AS(state_bench(environment, {64, 1024, 1, 128, 128}), std::invalid_argument);
}

TEST_CASE("stores count what they move: a copy both ways, no fetched lines") {
  CpuEnvironment environment(2, std::nullopt, 0);
  for (const CpuBench& bench :
       {write_bench(environment, 1 << 20), streaming_write_bench(environment, 1 << 20),
        copy_bench(environment, 1 << 20), streaming_copy_bench(environment, 1 << 20)}) {
    CAPTURE(bench.benchmark);
    CHECK(bench.bytes == 1048576.0);
    CHECK(time_nodes(environment.pool, bench.work, kBrief).median_s > 0.0);
  }
}

TEST_CASE("a copy arrives") {
  CpuEnvironment environment(1, std::nullopt, 0);
  for (const CpuBench& bench :
       {copy_bench(environment, 8192), streaming_copy_bench(environment, 8192)}) {
    CAPTURE(bench.benchmark);
    // 8192 bytes are 4096 read and 4096 written; node 3 is the fourth such window.
    environment.pool.run([&](int thread) { bench.work(thread, 3); });
    CHECK(std::memcmp(environment.slabs.window(0, 4096, 3), environment.targets.window(0, 4096, 3),
                      4096) == 0);
    std::memset(environment.targets.window(0, 4096, 3), 0, 4096);
  }
}

TEST_CASE("a read by some threads counts their bytes, and the others leave theirs alone") {
  CpuEnvironment environment(2, std::nullopt, 0);
  const CpuBench one = thread_read_bench(environment, 1 << 20, {0, 1});
  CHECK(one.threads == 1);
  CHECK(one.bytes == 1048576.0);
  CHECK(time_nodes(environment.pool, one.work, kBrief).median_s > 0.0);
  std::int64_t threads = 0;
  for (const Range& node : threads_by_node(environment)) threads += node.size();
  CHECK(threads == 2);
}

TEST_CASE("shapes beyond the benchmark's memory are refused") {
  CpuEnvironment environment(1, std::nullopt, 0);
  const auto rows = static_cast<std::int64_t>(environment.slabs.bytes_per_thread()) / 1024 + 16;
  CHECK_THROWS_AS(gemm_bench(environment, {rows, 1024, 1}), std::invalid_argument);
  CHECK_THROWS_AS(moe_bench(environment, {64, 8, 4096, rows / 64, 8}), std::invalid_argument);
  CHECK_THROWS_AS(mla_bench(environment, {64, 8, 512, 64, 1 << 20}), std::invalid_argument);
  CHECK_THROWS_AS(attention_bench(environment, {64, 8, 8, 128, 1 << 20}), std::invalid_argument);
}

}  // namespace
}  // namespace roofcast
