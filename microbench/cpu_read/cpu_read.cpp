#include "microbench/cpu_read/cpu_read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace roofcast {
namespace {

constexpr std::size_t kReadUnit = 1024;  // what Kernels::read works in

std::atomic<std::uint32_t> sink{0};

CpuBench read_bench(CpuEnvironment& environment, double bytes, bool cold) {
  const auto threads = static_cast<std::size_t>(environment.pool.size());
  const std::size_t units = static_cast<std::size_t>(bytes) / threads / kReadUnit;
  const std::size_t each =
      std::min(std::max<std::size_t>(units, 1) * kReadUnit, environment.slabs.bytes_per_thread());
  CpuBench bench;
  bench.benchmark = cold ? "read" : "cache_read";
  bench.bytes = static_cast<double>(each * threads);
  bench.label = fmt::format("bytes={}", each * threads);
  bench.work = [&environment, each, cold](int thread, std::size_t node) {
    const std::byte* const data = environment.slabs.window(thread, each, cold ? node : 0);
    sink.fetch_add(environment.kernels.read(data, each), std::memory_order_relaxed);
  };
  return bench;
}

}  // namespace

CpuBench cold_read_bench(CpuEnvironment& environment, double bytes) {
  return read_bench(environment, bytes, true);
}

CpuBench hot_read_bench(CpuEnvironment& environment, double bytes) {
  return read_bench(environment, bytes, false);
}

}  // namespace roofcast
