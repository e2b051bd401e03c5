#include "microbench/cpu_gemm/cpu_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

namespace roofcast {
namespace {

/// Inputs and outputs of all nodes; they stay in the caches, as between operators of a step.
struct GemmVectors {
  std::vector<Bf16> x, y;
};

Range rows_of(const GemmShape& shape, int thread, int threads) {
  const Range tiles = part_of((shape.n + kRowTile - 1) / kRowTile, thread, threads);
  return {tiles.begin * kRowTile, std::min(tiles.end * kRowTile, shape.n)};
}

}  // namespace

CpuBench gemm_bench(CpuEnvironment& environment, const GemmShape& s) {
  const int threads = environment.pool.size();
  const auto most_rows = static_cast<std::size_t>(rows_of(s, threads - 1, threads).size());
  if (most_rows * static_cast<std::size_t>(s.k) * sizeof(Bf16) >
      environment.slabs.bytes_per_thread())
    throw std::invalid_argument("these weights exceed the benchmark's memory");
  const auto vectors = std::make_shared<GemmVectors>();
  const auto* const random = reinterpret_cast<const Bf16*>(environment.slabs.data(0));
  vectors->x.assign(random, random + s.batch * s.k);
  vectors->y.resize(static_cast<std::size_t>(s.batch * s.n));
  const double elements =
      static_cast<double>(s.n * s.k) + static_cast<double>(s.batch * (s.n + s.k));
  CpuBench bench;
  bench.benchmark = "gemm";
  bench.label = fmt::format("n={} k={} batch={}", s.n, s.k, s.batch);
  bench.bytes = elements * sizeof(Bf16);
  bench.flops = 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.n * s.k);
  bench.work = [&environment, vectors, s, threads](int thread, std::size_t node) {
    const Range rows = rows_of(s, thread, threads);
    if (rows.size() <= 0) return;
    const auto bytes = static_cast<std::size_t>(rows.size() * s.k) * sizeof(Bf16);
    environment.kernels.gemm(
        {.weights = reinterpret_cast<const Bf16*>(environment.slabs.window(thread, bytes, node)),
         .rows = rows.size(),
         .k = s.k,
         .x = vectors->x.data(),
         .x_stride = s.k,
         .batch = s.batch,
         .y = vectors->y.data() + rows.begin,
         .y_stride = s.n});
  };
  return bench;
}

}  // namespace roofcast
