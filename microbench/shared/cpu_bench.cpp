#include "microbench/shared/cpu_bench.hpp"

#include <algorithm>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

std::size_t slab_bytes(const Topology& topology, int threads, std::size_t total_bytes) {
  const std::size_t each = std::max(cold_slab_bytes(threads, topology.last_level_cache_bytes),
                                    total_bytes / static_cast<std::size_t>(threads));
  const auto available = static_cast<double>(available_memory_bytes());
  const double needed = static_cast<double>(each) * threads;
  if (available > 0.0 && needed > 0.8 * available)
    throw IoError("the benchmarks need " + std::to_string(needed / 1e9) + " GB of memory, and " +
                  std::to_string(available / 1e9) + " GB are free");
  return each;
}

}  // namespace

CpuEnvironment::CpuEnvironment(int threads, std::optional<IsaLevel> isa, std::size_t total_bytes)
    : topology(this_topology()),
      pool(pool_cpus(threads)),
      kernels(kernels_for(isa.value_or(best_isa()))),
      slabs(pool, slab_bytes(topology, pool.size(), total_bytes)) {}

}  // namespace roofcast
