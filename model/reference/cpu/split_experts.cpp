#include "model/reference/cpu/split_experts.hpp"

#include <algorithm>

namespace roofcast {
namespace {

/// Columns are split in whole cache lines, so that no two threads write one.
constexpr std::int64_t kLineElements = 32;

void grow(std::vector<Bf16>& values, std::int64_t elements) {
  if (static_cast<std::int64_t>(values.size()) < elements)
    values.resize(static_cast<std::size_t>(elements));
}

std::int64_t bias_bytes(std::int64_t rows) {
  return rows * static_cast<std::int64_t>(sizeof(Bf16));
}

/// One thread at work on a task.
struct Worker {
  const ExpertTask& task;
  const std::vector<ExpertChoice>& choices;
  ExpertBuffers& buffers;
  const Kernels& kernels;
  int thread;
  int threads;
  const ExpertGroups& groups;
  ExpertReads reads = {};

  void gather();
  void multiply_in(std::size_t hit);
  void multiply_down(std::size_t hit);
  void combine();
};

/// Copies this thread's share of pairs, so that each expert's tokens lie together.
void Worker::gather() {
  const Range own = part_of(static_cast<std::int64_t>(choices.size()), thread, threads);
  for (std::int64_t pair = own.begin; pair < own.end; ++pair)
    std::copy_n(task.x + groups.token[static_cast<std::size_t>(pair)] * task.hidden_dim,
                task.hidden_dim, buffers.x.data() + pair * task.hidden_dim);
}

/// Up and gate of this thread's rows, and their activation.
void Worker::multiply_in(std::size_t hit) {
  const ExpertSlice slice = task.slice(groups.hit[hit], thread);
  const std::int64_t rows = slice.inner.size();
  if (rows == 0) return;
  const std::int64_t first = groups.first[hit];
  const std::int64_t pairs = groups.first[hit + 1] - first;
  const std::int64_t at = first * task.expert_dim + slice.inner.begin;
  const bool gated = slice.gate.rows > 0;
  const Bf16* const x = task.batch == 1 ? task.x : buffers.x.data() + first * task.hidden_dim;
  multiply(kernels, slice.up, x, task.hidden_dim, pairs, slice.up_bias, buffers.up.data() + at,
           task.expert_dim);
  if (gated)
    multiply(kernels, slice.gate, x, task.hidden_dim, pairs, slice.gate_bias,
             buffers.gate.data() + at, task.expert_dim);
  for (std::int64_t row = at; row < at + pairs * task.expert_dim; row += task.expert_dim)
    kernels.activate({.up = buffers.up.data() + row,
                      .gate = gated ? buffers.gate.data() + row : nullptr,
                      .out = buffers.hidden.data() + row,
                      .n = rows,
                      .kind = task.activation,
                      .swiglu = task.swiglu});
  const std::int64_t biases = slice.up_bias == nullptr ? 0 : (gated ? 2 : 1) * rows;
  reads.weight_bytes += slice.up.bytes() + slice.gate.bytes() + bias_bytes(biases);
  // As the model counts: two vectors of the expert's width are written here, plain or gated.
  reads.activations += pairs * (task.hidden_dim + 2 * rows);
}

void Worker::multiply_down(std::size_t hit) {
  const ExpertSlice slice = task.slice(groups.hit[hit], thread);
  const std::int64_t rows = slice.outer.size();
  if (rows == 0) return;
  const std::int64_t first = groups.first[hit];
  const std::int64_t pairs = groups.first[hit + 1] - first;
  multiply(kernels, slice.down, buffers.hidden.data() + first * task.expert_dim, task.expert_dim,
           pairs, slice.down_bias, buffers.y.data() + first * task.hidden_dim + slice.outer.begin,
           task.hidden_dim);
  reads.weight_bytes += slice.down.bytes() + bias_bytes(slice.down_bias == nullptr ? 0 : rows);
  reads.activations += pairs * (task.expert_dim + rows);
}

/// Weighted sums of every token in this thread's columns.
void Worker::combine() {
  const Range lines =
      part_of((task.hidden_dim + kLineElements - 1) / kLineElements, thread, threads);
  const std::int64_t begin = lines.begin * kLineElements;
  const std::int64_t end = std::min(lines.end * kLineElements, task.hidden_dim);
  if (begin >= end) return;
  const auto per_token = static_cast<std::size_t>(task.per_token);
  std::vector<const Bf16*> rows(per_token);
  std::vector<float> weights(per_token);
  for (std::int64_t token = 0; token < task.batch; ++token) {
    for (std::size_t i = 0; i < per_token; ++i) {
      const std::size_t choice = static_cast<std::size_t>(token) * per_token + i;
      rows[i] = buffers.y.data() + groups.pair[choice] * task.hidden_dim + begin;
      weights[i] = choices[choice].weight;
    }
    kernels.weighted_sum({.rows = rows.data(),
                          .weights = weights.data(),
                          .count = task.per_token,
                          .out = task.y + token * task.hidden_dim + begin,
                          .n = end - begin});
  }
  reads.activations += 2 * task.batch * (end - begin);
}

}  // namespace

void ExpertBuffers::reserve(int threads, std::int64_t pairs, std::int64_t hidden_dim,
                            std::int64_t expert_dim) {
  groups.resize(std::max(groups.size(), static_cast<std::size_t>(threads)));
  for (std::vector<Bf16>* values : {&x, &y}) grow(*values, pairs * hidden_dim);
  for (std::vector<Bf16>* values : {&up, &gate, &hidden}) grow(*values, pairs * expert_dim);
}

ExpertReads run_experts(const ExpertTask& task, std::vector<ExpertChoice>& choices,
                        ExpertBuffers& buffers, const Kernels& kernels, ThreadPool& pool,
                        int thread) {
  const Range own = part_of(task.batch, thread, pool.size());
  for (std::int64_t token = own.begin; token < own.end; ++token)
    choose_experts(task.scores + token * task.experts, task.experts, task.per_token, task.router,
                   choices.data() + token * task.per_token);
  pool.barrier();
  ExpertGroups& groups = buffers.groups[static_cast<std::size_t>(thread)];
  group_by_expert(choices, task.per_token, task.experts, groups);
  Worker worker{task, choices, buffers, kernels, thread, pool.size(), groups};
  worker.reads.experts_hit = static_cast<std::int64_t>(groups.hit.size());
  if (task.batch > 1) {
    worker.gather();
    pool.barrier();
  }
  for (std::size_t hit = 0; hit < groups.hit.size(); ++hit) worker.multiply_in(hit);
  pool.barrier();
  for (std::size_t hit = 0; hit < groups.hit.size(); ++hit) worker.multiply_down(hit);
  pool.barrier();
  worker.combine();
  return worker.reads;
}

}  // namespace roofcast
