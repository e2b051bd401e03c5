#include "microbench/cpu_gemm/cpu_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "model/reference/cpu/weight_slab.hpp"

namespace roofcast {
namespace {

/// Inputs, outputs and scales of all nodes; they stay in the caches, as between operators of a
/// step.
struct GemmVectors {
  std::vector<Bf16> x, y;
  std::vector<float> row_scales;
};

Range rows_of(const GemmShape& shape, int thread, int threads) {
  const Range tiles = part_of((shape.n + kRowTile - 1) / kRowTile, thread, threads);
  return {tiles.begin * kRowTile, std::min(tiles.end * kRowTile, shape.n)};
}

std::shared_ptr<GemmVectors> make_vectors(const CpuEnvironment& environment, const GemmShape& s) {
  auto vectors = std::make_shared<GemmVectors>();
  const auto* const random = reinterpret_cast<const Bf16*>(environment.slabs.data(0));
  vectors->x.assign(random, random + s.batch * s.k);
  vectors->y.resize(static_cast<std::size_t>(s.batch * s.n));
  if (s.format.row_scale) vectors->row_scales.assign(static_cast<std::size_t>(s.n), 1.0F);
  return vectors;
}

/// By WeightKind.
constexpr const char* kBenchmarks[kWeightKinds] = {"gemm", "gemm_fp32", "gemm_fp8", "gemm_int8",
                                                   "gemm_int4"};

}  // namespace

CpuBench gemm_bench(CpuEnvironment& environment, const GemmShape& s) {
  const int threads = environment.pool.size();
  const std::int64_t row_bytes = s.format.row_bytes(s.k);
  const auto most_rows = static_cast<std::size_t>(rows_of(s, threads - 1, threads).size());
  if (most_rows * static_cast<std::size_t>(row_bytes) > environment.slabs.bytes_per_thread())
    throw std::invalid_argument("these weights exceed the benchmark's memory");
  const auto vectors = make_vectors(environment, s);
  CpuBench bench;
  bench.benchmark = kBenchmarks[static_cast<std::size_t>(s.format.kind)];
  bench.label = fmt::format("{} n={} k={} batch={}", s.format.name, s.n, s.k, s.batch);
  bench.bytes = static_cast<double>(s.n * row_bytes) +
                static_cast<double>(s.batch * (s.n + s.k)) * static_cast<double>(sizeof(Bf16));
  bench.flops = 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.n * s.k);
  bench.work = [&environment, vectors, s, threads, row_bytes](int thread, std::size_t node) {
    const Range rows = rows_of(s, thread, threads);
    if (rows.size() <= 0) return;
    const auto bytes = static_cast<std::size_t>(rows.size() * row_bytes);
    const float* const scales =
        s.format.row_scale ? vectors->row_scales.data() + rows.begin : nullptr;
    multiply(environment.kernels,
             {s.format, environment.slabs.window(thread, bytes, node), scales, rows.size(), s.k},
             vectors->x.data(), s.k, s.batch, nullptr, vectors->y.data() + rows.begin, s.n);
  };
  return bench;
}

}  // namespace roofcast
