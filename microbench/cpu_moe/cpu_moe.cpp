#include "microbench/cpu_moe/cpu_moe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "model/reference/cpu/split_experts.hpp"

namespace roofcast {
namespace {

/// Routing, inputs and outputs of all nodes of one benchmark.
struct MoeBuffers {
  std::vector<Bf16> scores, x, y;
  std::vector<ExpertChoice> choices;
  ExpertBuffers experts;
  ExpertGroups groups;               // the routing, which is the same in all nodes
  std::vector<std::int64_t> window;  // (experts): the place of a hit expert among those hit
};

Range rows_of(std::int64_t rows, std::int64_t expert, int thread, int threads) {
  const Range tiles = part_of((rows + kRowTile - 1) / kRowTile,
                              static_cast<int>((thread + expert) % threads), threads);
  return {tiles.begin * kRowTile, std::min(tiles.end * kRowTile, rows)};
}

/// Elements that hold any thread's rows of one expert.
std::int64_t window_elements(const MoeShape& s, int threads) {
  const auto most = [&](std::int64_t rows) {
    return std::min((rows + kRowTile * threads - 1) / (kRowTile * threads) * kRowTile, rows);
  };
  return 2 * most(s.expert_dim) * s.hidden_dim + most(s.hidden_dim) * s.expert_dim;
}

/// Weights of one expert and thread: a window of their own in that thread's memory.
ExpertSlice slice_of(const CpuEnvironment& environment, const MoeShape& s,
                     const MoeBuffers& buffers, std::size_t node, std::int64_t expert, int thread) {
  const int threads = environment.pool.size();
  const auto bytes = static_cast<std::size_t>(window_elements(s, threads)) * sizeof(Bf16);
  const std::size_t place =
      node * buffers.groups.hit.size() +
      static_cast<std::size_t>(buffers.window[static_cast<std::size_t>(expert)]);
  const std::byte* const data = environment.slabs.window(thread, bytes, place);
  ExpertSlice slice{.inner = rows_of(s.expert_dim, expert, thread, threads),
                    .outer = rows_of(s.hidden_dim, expert, thread, threads)};
  slice.up = {kBf16Weights, data, nullptr, slice.inner.size(), s.hidden_dim};
  slice.gate = {kBf16Weights, data + slice.up.bytes(), nullptr, slice.inner.size(), s.hidden_dim};
  slice.down = {kBf16Weights, data + 2 * slice.up.bytes(), nullptr, slice.outer.size(),
                s.expert_dim};
  return slice;
}

std::shared_ptr<MoeBuffers> make_buffers(CpuEnvironment& environment, const MoeShape& s) {
  auto buffers = std::make_shared<MoeBuffers>();
  std::mt19937 random(static_cast<unsigned>(s.batch));
  std::normal_distribution<float> score;
  buffers->scores.resize(static_cast<std::size_t>(s.batch * s.experts));
  for (Bf16& bits : buffers->scores) bits = float_to_bf16(score(random));
  const auto* const values = reinterpret_cast<const Bf16*>(environment.slabs.data(0));
  buffers->x.assign(values, values + s.batch * s.hidden_dim);
  buffers->y.resize(buffers->x.size());
  const std::int64_t pairs = s.batch * s.per_token;
  buffers->choices.resize(static_cast<std::size_t>(pairs));
  buffers->experts.reserve(environment.pool.size(), pairs, s.hidden_dim, s.expert_dim);
  for (std::int64_t token = 0; token < s.batch; ++token)
    choose_experts(buffers->scores.data() + token * s.experts, s.experts, s.per_token, {},
                   buffers->choices.data() + token * s.per_token);
  group_by_expert(buffers->choices, s.per_token, s.experts, buffers->groups);
  buffers->window.resize(static_cast<std::size_t>(s.experts));
  for (std::size_t i = 0; i < buffers->groups.hit.size(); ++i)
    buffers->window[static_cast<std::size_t>(buffers->groups.hit[i])] =
        static_cast<std::int64_t>(i);
  return buffers;
}

}  // namespace

CpuBench moe_bench(CpuEnvironment& environment, const MoeShape& s) {
  const auto window = static_cast<std::size_t>(window_elements(s, environment.pool.size()));
  const auto most_hit = static_cast<std::size_t>(std::min(s.experts, s.batch * s.per_token));
  if (most_hit * window * sizeof(Bf16) > environment.slabs.bytes_per_thread())
    throw std::invalid_argument("these experts exceed the benchmark's memory");
  const auto buffers = make_buffers(environment, s);
  const auto hit = static_cast<double>(buffers->groups.hit.size());
  const auto pairs = static_cast<double>(s.batch * s.per_token);
  const auto matrices = 3.0 * static_cast<double>(s.hidden_dim * s.expert_dim);
  CpuBench bench;
  bench.benchmark = "moe";
  bench.label = fmt::format("experts={}/{} hidden={} width={} batch={} hit={}", s.per_token,
                            s.experts, s.hidden_dim, s.expert_dim, s.batch, hit);
  const double traffic = pairs * static_cast<double>(2 * s.hidden_dim + 3 * s.expert_dim) +
                         2.0 * static_cast<double>(s.batch * s.hidden_dim);
  bench.bytes = (hit * matrices + traffic) * sizeof(Bf16);
  bench.flops = 2.0 * pairs * matrices;
  bench.work = [&environment, buffers, s](int thread, std::size_t node) {
    const ExpertTask task{.batch = s.batch,
                          .hidden_dim = s.hidden_dim,
                          .expert_dim = s.expert_dim,
                          .experts = s.experts,
                          .per_token = s.per_token,
                          .scores = buffers->scores.data(),
                          .x = buffers->x.data(),
                          .y = buffers->y.data(),
                          .slice = [&](std::int64_t expert, int owner) {
                            return slice_of(environment, s, *buffers, node, expert, owner);
                          }};
    run_experts(task, buffers->choices, buffers->experts, environment.kernels, environment.pool,
                thread);
  };
  return bench;
}

}  // namespace roofcast
