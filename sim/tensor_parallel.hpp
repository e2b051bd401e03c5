#pragma once

#include <cstdint>
#include <string>

#include "model/architecture/architecture_spec.hpp"

namespace roofcast {

/// Heads of an attention kind; 0 where it has none of that sort.
struct HeadCounts {
  std::int64_t query = 0;
  std::int64_t kv = 0;
};
HeadCounts head_counts(const Mixer& mixer);

/// Why `tp` ranks cannot share this model's heads; empty when they can. Query heads have to divide
/// evenly; key-value heads evenly too, or be copied to a whole number of ranks each.
std::string tensor_parallel_problem(const ArchitectureSpec& spec, int tp);

}  // namespace roofcast
