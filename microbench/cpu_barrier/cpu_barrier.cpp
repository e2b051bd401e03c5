#include "microbench/cpu_barrier/cpu_barrier.hpp"

#include <fmt/format.h>

#include <chrono>

namespace roofcast {

CpuBench barrier_bench(CpuEnvironment& environment) {
  CpuBench bench;
  bench.benchmark = "barrier";
  bench.label = fmt::format("threads={}", environment.pool.size());
  bench.work = [](int, std::size_t) {};
  return bench;
}

TimingSummary time_region(CpuEnvironment& environment, const StoppingRule& rule) {
  return sample_until_settled(
      [&] {
        const auto start = std::chrono::steady_clock::now();
        environment.pool.run([](int) {});
        return Timing{
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
      },
      rule);
}

}  // namespace roofcast
