#include "microbench/cpu_attention/cpu_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "model/reference/cpu/split_attention.hpp"

namespace roofcast {
namespace {

std::int64_t padded_tokens(const AttentionShape& s) {
  const std::int64_t step = std::max(s.page_tokens, kTokenStep);
  return (s.context + 1 + step - 1) / step * step;
}

/// Bytes of K (or V) of one item.
std::int64_t half_bytes(const AttentionShape& s) {
  return padded_tokens(s) * s.head_dim * code_bytes(s.code);
}

/// Queries, outputs and merge buffers of all nodes of one benchmark.
struct AttentionBuffers {
  std::vector<Bf16> q, out;
  std::vector<std::int32_t> pages;  // of every sequence
  SplitAttention attention;
};

/// Keys of an item in the window of the thread that owns it; its values follow.
const std::byte* item_cache(const CpuEnvironment& environment, const AttentionShape& s,
                            std::int64_t item, std::size_t node) {
  const int threads = environment.pool.size();
  const std::int64_t items = s.sequences * s.n_kv_heads;
  int owner = static_cast<int>(item * threads / items);
  while (part_of(items, owner, threads).end <= item) ++owner;
  const Range own = part_of(items, owner, threads);
  const auto bytes = static_cast<std::size_t>(own.size() * 2 * half_bytes(s));
  return environment.slabs.window(owner, bytes, node) + (item - own.begin) * 2 * half_bytes(s);
}

std::vector<std::int32_t> random_pages(const AttentionShape& s) {
  if (s.page_tokens == 0) return {};
  std::vector<std::int32_t> pages(static_cast<std::size_t>(padded_tokens(s) / s.page_tokens));
  std::iota(pages.begin(), pages.end(), 0);
  std::shuffle(pages.begin(), pages.end(), std::mt19937(1));
  return pages;
}

std::string label_of(const AttentionShape& s) {
  std::string label = fmt::format("sequences={} context={} heads={}/{} head_dim={}", s.sequences,
                                  s.context, s.n_heads, s.n_kv_heads, s.head_dim);
  if (s.page_tokens > 0) label += fmt::format(" page={}", s.page_tokens);
  return label;
}

/// Halves of the slabs' bf16 values serve as bytes: conversion takes as long for any of them.
AttentionTask task_of(const CpuEnvironment& environment, const AttentionShape& s,
                      AttentionBuffers& buffers, std::size_t node) {
  AttentionTask task;
  task.sequences = s.sequences;
  task.n_kv_heads = s.n_kv_heads;
  task.group = s.n_heads / s.n_kv_heads;
  task.head_dim = s.head_dim;
  task.value_dim = s.head_dim;
  task.tokens = s.context + 1;
  task.q = buffers.q.data();
  task.q_stride = s.n_heads * s.head_dim;
  task.keys = [&environment, s, node](std::int64_t item) {
    return item_cache(environment, s, item, node);
  };
  task.values = [&environment, s, node](std::int64_t item) {
    return item_cache(environment, s, item, node) + half_bytes(s);
  };
  task.key_code = task.value_code = s.code;
  if (s.page_tokens > 0) task.pages = [&buffers](std::int64_t) { return buffers.pages.data(); };
  task.page_tokens = s.page_tokens;
  task.out = buffers.out.data();
  return task;
}

}  // namespace

std::string_view attention_name(KvCode code) {
  switch (code) {
    case KvCode::fp8_e4m3:
      return "attention_fp8";
    case KvCode::int8:
      return "attention_int8";
    case KvCode::bf16:
      break;
  }
  return "attention_bf16";
}

double attention_cache_bytes(const AttentionShape& s) {
  return static_cast<double>(s.sequences * s.n_kv_heads * 2 * half_bytes(s));
}

CpuBench attention_bench(CpuEnvironment& environment, const AttentionShape& s) {
  const int threads = environment.pool.size();
  const Range most = part_of(s.sequences * s.n_kv_heads, threads - 1, threads);
  if (static_cast<std::size_t>(most.size() * 2 * half_bytes(s)) >
      environment.slabs.bytes_per_thread())
    throw std::invalid_argument("these caches exceed the benchmark's memory");
  const std::int64_t width = s.n_heads * s.head_dim;
  const auto buffers = std::make_shared<AttentionBuffers>();
  const auto* const random = reinterpret_cast<const Bf16*>(environment.slabs.data(0));
  buffers->q.assign(random, random + s.sequences * width);
  buffers->out.resize(buffers->q.size());
  buffers->pages = random_pages(s);
  buffers->attention = SplitAttention(threads, s.n_heads / s.n_kv_heads, s.head_dim);
  CpuBench bench;
  bench.benchmark = attention_name(s.code);
  bench.label = label_of(s);
  const auto sequences = static_cast<double>(s.sequences);
  const auto context = static_cast<double>(s.context);
  bench.bytes =
      sequences *
      (context * 2.0 * static_cast<double>(s.n_kv_heads * s.head_dim * code_bytes(s.code)) +
       2.0 * static_cast<double>(width) * sizeof(Bf16));
  bench.flops = 4.0 * sequences * static_cast<double>(width) * (context + 1.0);
  bench.work1 = sequences * static_cast<double>(s.n_kv_heads) / threads;
  bench.work2 = sequences * static_cast<double>(s.n_heads) / threads;
  bench.work = [&environment, buffers, s](int thread, std::size_t node) {
    buffers->attention.run(task_of(environment, s, *buffers, node), environment.kernels,
                           environment.pool, thread);
  };
  return bench;
}

}  // namespace roofcast
