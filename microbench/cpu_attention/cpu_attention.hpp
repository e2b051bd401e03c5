#pragma once

#include <string_view>

#include "microbench/shared/cpu_bench.hpp"

namespace roofcast {

/// Decode attention of one layer: `context` cached tokens and the newest one.
struct AttentionShape {
  std::int64_t sequences = 1;
  std::int64_t n_heads = 0;
  std::int64_t n_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t context = 0;
  KvCode code = KvCode::bf16;    // of keys and of values
  std::int64_t page_tokens = 0;  // 0: caches lie in order, else in pages in random order
};

/// Name of the benchmark, and of the primitive that it calibrates: "attention_bf16",
/// "attention_fp8", "attention_int8".
std::string_view attention_name(KvCode code);

/// Bytes of K and V that all threads hold for one node of this shape.
double attention_cache_bytes(const AttentionShape& shape);

/// The reference engine's attention on caches that come from memory. Throws std::invalid_argument
/// when one thread's caches exceed its slab.
CpuBench attention_bench(CpuEnvironment& environment, const AttentionShape& shape);

}  // namespace roofcast
