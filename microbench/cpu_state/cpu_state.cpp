#include "microbench/cpu_state/cpu_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "model/reference/cpu/split_recurrence.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kLineElements = 32;

double element_bytes(StateFormat format) { return format == StateFormat::fp32 ? 4.0 : 2.0; }

std::size_t item_bytes(const StateShape& s) {
  return static_cast<std::size_t>(static_cast<double>(s.key_dim * s.value_dim) *
                                  element_bytes(s.format));
}

/// Vectors of all nodes of one benchmark. They stay in the caches, as between operators.
struct StateBuffers {
  std::vector<Bf16> keys, queries, values, out;
  std::vector<StepVectors> vectors;  // by thread
};

std::vector<Bf16> random_vector(const CpuEnvironment& environment, std::int64_t n) {
  const auto* const random = reinterpret_cast<const Bf16*>(environment.slabs.data(0));
  return {random, random + n};
}

/// A node's share of one thread, whose items follow each other in a window of its own.
void run_states(CpuEnvironment& environment, StateBuffers& buffers, const StateShape& s, int thread,
                std::size_t node) {
  const int threads = environment.pool.size();
  const Range own = part_of(s.sequences * s.heads, thread, threads);
  std::byte* const states = environment.targets.window(
      thread, static_cast<std::size_t>(own.size()) * item_bytes(s), node);
  // Decays and strengths that keep a state's elements near 1.
  const RecurrenceTask task{
      .sequences = s.sequences,
      .heads = s.heads,
      .key_heads = s.key_heads,
      .key_dim = s.key_dim,
      .value_dim = s.value_dim,
      .rule = s.rule,
      .format = s.format,
      .unit_keys = s.rule == StateRule::delta,
      .keys = {buffers.keys.data(), s.key_heads * s.key_dim},
      .queries = {buffers.queries.data(), s.key_heads * s.key_dim},
      .values = {buffers.values.data(), s.heads * s.value_dim},
      .control = [](std::int64_t,
                    std::int64_t) { return HeadControl{.decay = 0.9F, .strength = 0.5F}; },
      .state =
          [&](std::int64_t item) {
            return states + static_cast<std::size_t>(item - own.begin) * item_bytes(s);
          },
      .out = buffers.out.data()};
  run_recurrence(task, environment.kernels, thread, threads,
                 buffers.vectors[static_cast<std::size_t>(thread)]);
}

struct ConvolutionBuffers {
  std::vector<Bf16> x, out;
};

void run_convolution(CpuEnvironment& environment, ConvolutionBuffers& buffers,
                     const ConvolutionShape& s, int thread, std::size_t node) {
  const Range lines =
      part_of((s.channels + kLineElements - 1) / kLineElements, thread, environment.pool.size());
  const std::int64_t first = lines.begin * kLineElements;
  const std::int64_t n = std::min(lines.end * kLineElements, s.channels) - first;
  if (n <= 0) return;
  const std::int64_t kept = (s.kernel - 1) * n;
  const auto taps_bytes = static_cast<std::size_t>(s.kernel * n) * sizeof(Bf16);
  const auto kept_bytes = static_cast<std::size_t>(s.sequences * kept) * sizeof(Bf16);
  const auto* const taps =
      reinterpret_cast<const Bf16*>(environment.slabs.window(thread, taps_bytes, node));
  auto* const inputs =
      reinterpret_cast<Bf16*>(environment.targets.window(thread, kept_bytes, node));
  for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence)
    environment.kernels.convolve({.taps = taps,
                                  .inputs = inputs + sequence * kept,
                                  .x = buffers.x.data() + sequence * s.channels + first,
                                  .out = buffers.out.data() + sequence * s.channels + first,
                                  .kernel = s.kernel,
                                  .n = n,
                                  .silu = true});
}

}  // namespace

double state_bytes_per_thread(const StateShape& s, int threads) {
  const std::int64_t items = (s.sequences * s.heads + threads - 1) / threads;
  return static_cast<double>(items) * static_cast<double>(item_bytes(s));
}

CpuBench state_bench(CpuEnvironment& environment, const StateShape& s) {
  const int threads = environment.pool.size();
  environment.targets.reserve(environment.pool, environment.topology.last_level_cache_bytes);
  if (state_bytes_per_thread(s, threads) >
      static_cast<double>(environment.targets.bytes_per_thread()))
    throw std::invalid_argument("these states exceed the benchmark's memory");
  const auto buffers = std::make_shared<StateBuffers>();
  buffers->keys = buffers->queries =
      random_vector(environment, s.sequences * s.key_heads * s.key_dim);
  buffers->values = buffers->out = random_vector(environment, s.sequences * s.heads * s.value_dim);
  buffers->vectors.assign(static_cast<std::size_t>(threads), StepVectors(s.key_dim, s.value_dim));
  CpuBench bench;
  bench.benchmark = s.format == StateFormat::fp32 ? "state_fp32" : "state_bf16";
  bench.label = fmt::format("{} sequences={} heads={}/{} state={}x{}",
                            s.rule == StateRule::delta ? "delta" : "linear", s.sequences, s.heads,
                            s.key_heads, s.key_dim, s.value_dim);
  const auto sequences = static_cast<double>(s.sequences);
  const auto elements = sequences * static_cast<double>(s.heads * s.key_dim * s.value_dim);
  const auto vectors =
      2.0 * sequences * static_cast<double>(s.key_heads * s.key_dim + s.heads * s.value_dim);
  bench.bytes = 2.0 * elements * element_bytes(s.format) + vectors * sizeof(Bf16);
  bench.flops = (s.rule == StateRule::delta ? 7.0 : 5.0) * elements;
  bench.work = [&environment, buffers, s](int thread, std::size_t node) {
    run_states(environment, *buffers, s, thread, node);
  };
  return bench;
}

CpuBench convolution_bench(CpuEnvironment& environment, const ConvolutionShape& s) {
  environment.targets.reserve(environment.pool, environment.topology.last_level_cache_bytes);
  const auto buffers = std::make_shared<ConvolutionBuffers>();
  buffers->x = buffers->out = random_vector(environment, s.sequences * s.channels);
  CpuBench bench;
  bench.benchmark = "state_bf16";
  bench.label = fmt::format("convolution sequences={} channels={} kernel={}", s.sequences,
                            s.channels, s.kernel);
  const auto sequences = static_cast<double>(s.sequences);
  const auto channels = static_cast<double>(s.channels);
  const auto kernel = static_cast<double>(s.kernel);
  bench.bytes =
      sizeof(Bf16) * channels * (2.0 * sequences * (kernel - 1.0) + kernel + 2.0 * sequences);
  bench.flops = 2.0 * sequences * channels * kernel;
  bench.work = [&environment, buffers, s](int thread, std::size_t node) {
    run_convolution(environment, *buffers, s, thread, node);
  };
  return bench;
}

}  // namespace roofcast
