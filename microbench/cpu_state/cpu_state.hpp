#pragma once

#include "microbench/shared/cpu_bench.hpp"

namespace roofcast {

/// States of one layer: a key_dim x value_dim matrix for each of `heads` heads of each sequence;
/// heads / key_heads heads share a key.
struct StateShape {
  std::int64_t sequences = 1;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  StateRule rule = StateRule::linear;
  StateFormat format = StateFormat::fp32;
};

/// The inputs that one layer's convolution keeps.
struct ConvolutionShape {
  std::int64_t sequences = 1;
  std::int64_t channels = 0;
  std::int64_t kernel = 0;
};

/// Bytes of state that the fullest thread holds for one node.
double state_bytes_per_thread(const StateShape& shape, int threads);

/// The reference engine's recurrence on states that come from memory. Throws std::invalid_argument
/// when one thread's states exceed its part of the targets.
CpuBench state_bench(CpuEnvironment& environment, const StateShape& shape);

/// The reference engine's short convolution, kept inputs and taps from memory.
CpuBench convolution_bench(CpuEnvironment& environment, const ConvolutionShape& shape);

}  // namespace roofcast
