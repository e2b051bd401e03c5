#include "sim/memory_need.hpp"

#include "model/operators/decode_step.hpp"

namespace roofcast {
namespace {

/// Weights that a step of so many sequences reads that it hits every expert, on one rank; without
/// the rows of the embedding, which grow with the sequences.
double weights_of_all_experts(const ArchitectureSpec& spec, int tp) {
  constexpr double kSequences = 1e6;
  double bytes = 0.0;
  for (const Operator& op : decode_step(spec, {.sequences = kSequences, .tp = tp}))
    if (op.name != "embedding") bytes += op.bytes.weights.value * op.count;
  return bytes;
}

}  // namespace

double resident_bytes_per_rank(const ArchitectureSpec& spec, int tp) {
  const double even_share = weight_bytes(spec).resident.value / tp;
  if (tp == 1) return even_share;
  return even_share + weights_of_all_experts(spec, tp) - weights_of_all_experts(spec, 1) / tp;
}

MemoryNeed memory_need(const ArchitectureSpec& spec, double resident_bytes, const Workload& load,
                       double capacity) {
  const auto batch = static_cast<double>(load.batch);
  const auto tokens = static_cast<double>(load.context + load.output_tokens);
  const CacheBytes cache = cache_bytes_per_rank(spec, tokens, load.tp);
  return {.weights = resident_bytes,
          .kv = cache.kv.value * batch,
          .state = cache.state.value * batch,
          .capacity = capacity};
}

}  // namespace roofcast
