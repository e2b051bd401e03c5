#include "microbench/cpu_read/cpu_read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace roofcast {
namespace {

constexpr std::size_t kReadUnit = 1024;  // what Kernels::read works in

std::atomic<std::uint32_t> sink{0};

CpuBench read_bench(CpuEnvironment& environment, double bytes, Range readers, bool cold) {
  const auto threads = static_cast<std::size_t>(readers.size());
  const std::size_t units = static_cast<std::size_t>(bytes) / threads / kReadUnit;
  const std::size_t each =
      std::min(std::max<std::size_t>(units, 1) * kReadUnit, environment.slabs.bytes_per_thread());
  CpuBench bench;
  bench.benchmark = cold ? "read" : "cache_read";
  bench.bytes = static_cast<double>(each * threads);
  bench.label = fmt::format("bytes={}", each * threads);
  bench.first_thread = static_cast<int>(readers.begin);
  bench.threads = static_cast<int>(threads);
  bench.work = [&environment, each, readers, cold](int thread, std::size_t node) {
    if (thread < readers.begin || thread >= readers.end) return;
    const std::byte* const data = environment.slabs.window(thread, each, cold ? node : 0);
    sink.fetch_add(environment.kernels.read(data, each), std::memory_order_relaxed);
  };
  return bench;
}

Range everyone(const CpuEnvironment& environment) { return {0, environment.pool.size()}; }

}  // namespace

CpuBench cold_read_bench(CpuEnvironment& environment, double bytes) {
  return read_bench(environment, bytes, everyone(environment), true);
}

CpuBench hot_read_bench(CpuEnvironment& environment, double bytes) {
  return read_bench(environment, bytes, everyone(environment), false);
}

CpuBench thread_read_bench(CpuEnvironment& environment, double bytes, Range readers) {
  CpuBench bench = read_bench(environment, bytes, readers, true);
  bench.benchmark = "read_threads";
  bench.label = fmt::format("threads={}..{} bytes={}", readers.begin, readers.end - 1, bench.bytes);
  return bench;
}

std::vector<Range> threads_by_node(const CpuEnvironment& environment) {
  const std::vector<Cpu>& cpus = environment.topology.cpus;
  const auto threads = static_cast<std::size_t>(environment.pool.size());
  if (threads > cpus.size()) return {everyone(environment)};
  std::vector<Range> nodes;
  for (std::size_t i = 0; i < threads; ++i) {
    const auto thread = static_cast<std::int64_t>(i);
    if (i == 0 || cpus[i].numa_node != cpus[i - 1].numa_node) nodes.push_back({thread, thread});
    nodes.back().end = thread + 1;
  }
  return nodes;
}

}  // namespace roofcast
