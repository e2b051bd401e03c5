#include "microbench/cpu_attention/cpu_attention.hpp"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "model/reference/cpu/split_attention.hpp"

namespace roofcast {
namespace {

std::int64_t padded_tokens(const AttentionShape& s) {
  return (s.context + 1 + kTokenStep - 1) / kTokenStep * kTokenStep;
}

/// Elements of K (or V) of one item.
std::int64_t item_elements(const AttentionShape& s) { return padded_tokens(s) * s.head_dim; }

/// Queries, outputs and merge buffers of all nodes of one benchmark.
struct AttentionBuffers {
  std::vector<Bf16> q, out;
  SplitAttention attention;
};

/// Keys of an item in the window of the thread that owns it; its values follow.
const Bf16* item_cache(const CpuEnvironment& environment, const AttentionShape& s,
                       std::int64_t item, std::size_t node) {
  const int threads = environment.pool.size();
  const std::int64_t items = s.sequences * s.n_kv_heads;
  int owner = static_cast<int>(item * threads / items);
  while (part_of(items, owner, threads).end <= item) ++owner;
  const Range own = part_of(items, owner, threads);
  const auto bytes = static_cast<std::size_t>(own.size() * 2 * item_elements(s)) * sizeof(Bf16);
  const auto* const window =
      reinterpret_cast<const Bf16*>(environment.slabs.window(owner, bytes, node));
  return window + (item - own.begin) * 2 * item_elements(s);
}

}  // namespace

double attention_cache_bytes(const AttentionShape& s) {
  return static_cast<double>(s.sequences * s.n_kv_heads * 2 * item_elements(s)) * sizeof(Bf16);
}

CpuBench attention_bench(CpuEnvironment& environment, const AttentionShape& s) {
  const int threads = environment.pool.size();
  const Range most = part_of(s.sequences * s.n_kv_heads, threads - 1, threads);
  if (static_cast<std::size_t>(most.size() * 2 * item_elements(s)) * sizeof(Bf16) >
      environment.slabs.bytes_per_thread())
    throw std::invalid_argument("these caches exceed the benchmark's memory");
  const std::int64_t width = s.n_heads * s.head_dim;
  const auto buffers = std::make_shared<AttentionBuffers>();
  const auto* const random = reinterpret_cast<const Bf16*>(environment.slabs.data(0));
  buffers->q.assign(random, random + s.sequences * width);
  buffers->out.resize(buffers->q.size());
  buffers->attention = SplitAttention(threads, s.n_heads / s.n_kv_heads, s.head_dim);
  CpuBench bench;
  bench.benchmark = "attention";
  bench.label = fmt::format("sequences={} context={} heads={}/{} head_dim={}", s.sequences,
                            s.context, s.n_heads, s.n_kv_heads, s.head_dim);
  const auto sequences = static_cast<double>(s.sequences);
  const auto context = static_cast<double>(s.context);
  bench.bytes = sequences * sizeof(Bf16) *
                (context * 2.0 * static_cast<double>(s.n_kv_heads * s.head_dim) +
                 2.0 * static_cast<double>(width));
  bench.flops = 4.0 * sequences * static_cast<double>(width) * (context + 1.0);
  bench.work1 = sequences * static_cast<double>(s.n_kv_heads) / threads;
  bench.work2 = sequences * static_cast<double>(s.n_heads) / threads;
  bench.work = [&environment, buffers, s, width](int thread, std::size_t node) {
    const AttentionTask task{
        .sequences = s.sequences,
        .n_kv_heads = s.n_kv_heads,
        .group = s.n_heads / s.n_kv_heads,
        .head_dim = s.head_dim,
        .tokens = s.context + 1,
        .q = buffers->q.data(),
        .q_stride = width,
        .keys = [&](std::int64_t item) { return item_cache(environment, s, item, node); },
        .values =
            [&](std::int64_t item) {
              return item_cache(environment, s, item, node) + item_elements(s);
            },
        .out = buffers->out.data()};
    buffers->attention.run(task, environment.kernels, environment.pool, thread);
  };
  return bench;
}

}  // namespace roofcast
