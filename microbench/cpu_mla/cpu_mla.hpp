#pragma once

#include "microbench/shared/cpu_bench.hpp"

namespace roofcast {

/// Decode attention of one layer in the latent space: `context` cached latents and the newest one.
struct LatentShape {
  std::int64_t sequences = 1;
  std::int64_t heads = 0;
  std::int64_t rank = 0;  // of a latent's value
  std::int64_t rope = 0;  // what its key has besides
  std::int64_t context = 0;
};

/// Bytes of latents that all threads hold for one node of this shape.
double latent_cache_bytes(const LatentShape& shape);

/// The reference engine's absorbed latent attention on latents that come from memory. Throws
/// std::invalid_argument when one thread's latents exceed its slab.
CpuBench mla_bench(CpuEnvironment& environment, const LatentShape& shape);

}  // namespace roofcast
