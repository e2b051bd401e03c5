#pragma once

#include <optional>
#include <string>

#include "microbench/shared/region_timer.hpp"
#include "microbench/shared/store_targets.hpp"
#include "model/reference/cpu/topology.hpp"

namespace roofcast {

/// The threads, kernels and memory that CPU benchmarks run on.
struct CpuEnvironment {
  Topology topology;
  ThreadPool pool;
  const Kernels& kernels;
  RandomSlabs slabs;
  StoreTargets targets = {};

  /// `threads` 0: one per core; `isa` empty: the fastest. Slabs hold at least `total_bytes` and
  /// four times the last-level cache. Throws IoError without that much memory.
  CpuEnvironment(int threads, std::optional<IsaLevel> isa, std::size_t total_bytes);

  Reference look() { return look_at_machine(pool, kernels, slabs); }
};

/// One point of a benchmark: the work of a node, and what it moves and multiplies by the formulas
/// of the model's operators.
struct CpuBench {
  std::string benchmark;  // "gemm"
  std::string label;      // "n=4096 k=1024 batch=8"
  NodeWork work;
  double bytes = 0.0;
  double flops = 0.0;
  double work1 = 0.0;  // what the constants c1 and c2 of the primitive multiply
  double work2 = 0.0;
  int first_thread = 0;  // those that work, of a benchmark that leaves others idle
  int threads = 0;       // 0: all
};

}  // namespace roofcast
