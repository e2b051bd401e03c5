#include "sim/memory_need.hpp"

namespace roofcast {

MemoryNeed memory_need(const ArchitectureSpec& spec, double resident_bytes, const Workload& load,
                       double capacity) {
  const auto batch = static_cast<double>(load.batch);
  const auto tokens = static_cast<double>(load.context + load.output_tokens);
  const CacheBytes cache = cache_bytes_per_rank(spec, tokens, load.tp);
  return {.weights = resident_bytes / load.tp,
          .kv = cache.kv.value * batch,
          .state = cache.state.value * batch,
          .capacity = capacity};
}

}  // namespace roofcast
