#pragma once

#include "model/architecture/architecture_spec.hpp"
#include "sim/workload.hpp"

namespace roofcast {

/// Bytes that weights and caches take on one tensor-parallel rank, against its first memory. What
/// an engine needs beside them (activations, graphs, reserves) is left out: a lower bound.
struct MemoryNeed {
  double weights = 0.0;
  double kv = 0.0;
  double state = 0.0;
  double capacity = 0.0;

  double total() const { return weights + kv + state; }
  bool fits() const { return total() <= capacity; }
  /// Fits, but leaves less than a tenth to activations, graphs and the engine: what serving engines
  /// set aside by default (vLLM's gpu_memory_utilization of 0.9).
  bool tight() const { return fits() && total() > 0.9 * capacity; }
};

/// Bytes of weights that one of `tp` ranks holds: what a step's operators split, split; what they
/// repeat on every rank (latent down-projections, routers, norms, K and V beyond their heads),
/// whole. Tables, MTP blocks and towers are taken to split evenly.
double resident_bytes_per_rank(const ArchitectureSpec& spec, int tp);

/// The need at the end of the generation, with `resident_bytes` of weights per rank and `capacity`
/// bytes of one device.
MemoryNeed memory_need(const ArchitectureSpec& spec, double resident_bytes, const Workload& load,
                       double capacity);

}  // namespace roofcast
