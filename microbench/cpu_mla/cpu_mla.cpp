#include "microbench/cpu_mla/cpu_mla.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <vector>

#include "model/reference/cpu/split_latents.hpp"

namespace roofcast {
namespace {

std::int64_t latent_dim(const LatentShape& s) { return s.rank + s.rope; }

/// Elements that one sequence caches.
std::int64_t sequence_elements(const LatentShape& s) { return (s.context + 1) * latent_dim(s); }

/// Queries, outputs and merge buffers of all nodes of one benchmark.
struct LatentBuffers {
  std::vector<Bf16> q, out;
  SplitLatents attention;
};

/// Latents of a sequence in the window of the thread that owns it.
const Bf16* sequence_latents(const CpuEnvironment& environment, const LatentShape& s,
                             std::int64_t sequence, std::size_t node) {
  const int threads = environment.pool.size();
  int owner = static_cast<int>(sequence * threads / s.sequences);
  while (part_of(s.sequences, owner, threads).end <= sequence) ++owner;
  const Range own = part_of(s.sequences, owner, threads);
  const auto bytes = static_cast<std::size_t>(own.size() * sequence_elements(s)) * sizeof(Bf16);
  const auto* const window =
      reinterpret_cast<const Bf16*>(environment.slabs.window(owner, bytes, node));
  return window + (sequence - own.begin) * sequence_elements(s);
}

}  // namespace

double latent_cache_bytes(const LatentShape& s) {
  return static_cast<double>(s.sequences * sequence_elements(s)) * sizeof(Bf16);
}

CpuBench mla_bench(CpuEnvironment& environment, const LatentShape& s) {
  const int threads = environment.pool.size();
  const Range most = part_of(s.sequences, threads - 1, threads);
  if (static_cast<std::size_t>(most.size() * sequence_elements(s)) * sizeof(Bf16) >
      environment.slabs.bytes_per_thread())
    throw std::invalid_argument("these latents exceed the benchmark's memory");
  const auto buffers = std::make_shared<LatentBuffers>();
  const auto* const random = reinterpret_cast<const Bf16*>(environment.slabs.data(0));
  buffers->q.assign(random, random + s.sequences * s.heads * latent_dim(s));
  buffers->out.resize(static_cast<std::size_t>(s.sequences * s.heads * s.rank));
  buffers->attention = SplitLatents(threads, s.heads, latent_dim(s), s.rank);
  CpuBench bench;
  bench.benchmark = "mla";
  bench.label = fmt::format("sequences={} context={} heads={} rank={} rope={}", s.sequences,
                            s.context, s.heads, s.rank, s.rope);
  const auto sequences = static_cast<double>(s.sequences);
  const auto context = static_cast<double>(s.context);
  const auto heads = static_cast<double>(s.heads);
  const auto both = static_cast<double>(latent_dim(s) + s.rank);
  bench.bytes =
      sequences * sizeof(Bf16) * (context * static_cast<double>(latent_dim(s)) + heads * both);
  bench.flops = 2.0 * sequences * heads * both * (context + 1.0);
  bench.work1 = sequences * std::ceil(heads / 64.0) / threads;
  bench.work = [&environment, buffers, s](int thread, std::size_t node) {
    const LatentTask task{
        .sequences = s.sequences,
        .heads = s.heads,
        .latent_dim = latent_dim(s),
        .value_dim = s.rank,
        .tokens = s.context + 1,
        .scale = 1.0F / std::sqrt(static_cast<float>(latent_dim(s))),
        .q = buffers->q.data(),
        .latents =
            [&](std::int64_t sequence) { return sequence_latents(environment, s, sequence, node); },
        .out = buffers->out.data()};
    buffers->attention.run(task, environment.kernels, environment.pool, thread);
  };
  return bench;
}

}  // namespace roofcast
