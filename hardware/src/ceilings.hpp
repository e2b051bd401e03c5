#pragma once

#include <optional>
#include <string>

#include "hardware/src/machine.hpp"
#include "hardware/src/primitive.hpp"
#include "model/base/quantity.hpp"

namespace roofcast {

/// What a primitive attains on a machine, in
///   t = t0 + pnorm(bytes / bandwidth, FLOPs / flops) + linear terms
/// The linear terms are times per unit of named work: `c_k` x sqrt(K / 1000) of a GEMM; `c1` x
/// sequences x kv heads / compute units and `c2` x sequences x query heads / compute units of
/// attention; `c_mla` x sequences x ceil(heads / 64) / compute units of MLA. Expert blocks move
/// their token traffic at `io_bandwidth`.
struct Ceiling {
  BytesPerSecond bandwidth;
  FlopsPerSecond flops;
  Seconds t0_stream;  // launched on a stream (eager engines)
  Seconds t0_graph;   // a node of a graph
  Seconds c_k, c1, c2, c_mla;
  BytesPerSecond io_bandwidth;
  std::optional<double> norm =
      {};            // p of the norm by which memory and compute overlap, where measured
  double low = 1.0;  // 10 % and 90 % quantiles of measured / predicted time
  double high = 1.0;
  bool calibrated = false;
  std::string origin;  // "calibrated gemm_bf16 (...)", "generation hopper: ..."
};

/// The ceiling of `primitive` on operands that multiply in `format` (for attention: the format of
/// the KV cache). From the calibration where it has the primitive; experts that it lacks take its
/// 16-bit experts by the ratio of its plain products; any other primitive that it lacks takes
/// the calibrated read bandwidth times the generation's ratio to reads; else the generation's share
/// of the peak. Never above the data sheet's peaks, whatever a fit says.
Ceiling attainable_ceiling(const Machine& machine, Primitive primitive, ComputeFormat format);

/// The data sheet's peaks, without fixed times: no kernel is faster.
Ceiling ideal_ceiling(const Machine& machine, ComputeFormat format);

}  // namespace roofcast
