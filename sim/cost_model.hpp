#pragma once

#include <array>
#include <string>

#include "hardware/src/calibration.hpp"
#include "hardware/src/compute_format.hpp"
#include "model/operators/operator.hpp"

namespace roofcast {

inline constexpr std::size_t kOperatorKinds = kOperatorKindNames.size();

/// One value for each ComputeFormat.
template <typename T>
using ByFormat = std::array<T, kComputeFormats>;

constexpr ByFormat<double> filled(double value) {
  ByFormat<double> all{};
  for (double& one : all) one = value;
  return all;
}

/// What one kind of operator costs on one machine under one engine. Plain SI numbers (seconds,
/// bytes per second, FLOP/s): this is the inner loop of sweeps.
struct PrimitiveCost {
  double fixed_s = 0.0;  // per kernel, overlapped by nothing
  // Attainable bytes/s, by how the operand is stored: narrow ones need conversion.
  ByFormat<double> bandwidth = {};
  ByFormat<double> flops = {};  // attainable FLOP/s
  // p of the norm by which memory and compute time overlap, as measured; 0: that of the model.
  ByFormat<double> norm = {};
  // 10 % and 90 % quantiles of measured / predicted time, by how the operand is stored.
  ByFormat<double> low = filled(1.0);
  ByFormat<double> high = filled(1.0);
  // Whether the machine's calibration has this kernel, and whether there is a calibration that
  // lacks it: then its constants and its range are those of the machine's generation.
  ByFormat<bool> measured = {};
  ByFormat<bool> unmeasured = {};
  std::string origin;  // where the constants come from, for provenance
};

/// Attention whose kernel widens a narrow cache while it reads: where a calibration measured it
/// apart, its fixed times and FLOPs have that work in them.
struct NarrowAttention {
  bool measured = false;
  double fixed_s = 0.0;
  double flops = 0.0;
  double kv_head_s = 0.0;  // as CostModel::attention_kv_head_s
  double head_s = 0.0;
};

/// All constants that cost a step: a machine seen through an engine. Made by `make_cost_model`.
struct CostModel {
  std::array<PrimitiveCost, kOperatorKinds> primitives;
  AllReduceConstants all_reduce;        // for the ranks that the model was made for
  AllReduceConstants least_all_reduce;  // the same at the link's peak, for the sanity bound

  double norm_exponent = 2.5;  // how memory and compute time overlap; infinity: perfectly
  double row_tile = 1.0;       // GEMM and expert rows are padded to this
  double context_tile = 1.0;   // cached tokens of attention are padded to this
  double mla_context_tile = 1.0;
  double mla_head_tile = 1.0;

  double units = 1.0;                // SMs, CUs or cores that share the per-unit terms below
  double gemm_sqrt_k_s = 0.0;        // x sqrt(K / 1000): serial reduction over K
  double attention_kv_head_s = 0.0;  // x sequences x kv heads / units
  double attention_head_s = 0.0;     // x sequences x query heads / units
  ByFormat<NarrowAttention> narrow_attention;  // by how the cache is stored
  double mla_head_block_s = 0.0;               // x sequences x ceil(heads / 64) / units
  double moe_io_bandwidth = 0.0;               // token traffic of expert blocks

  double cache_bytes = 0.0;  // last-level cache; 0: not modelled
  double cache_bandwidth = 0.0;

  double peak_bandwidth = 0.0;  // data sheet, for the sanity bound
  ByFormat<double> peak_flops = {};

  double layer_overhead_s = 0.0;
  double host_per_kernel_s = 0.0;
  double host_per_step_s = 0.0;
  std::int64_t prefill_chunk = 0;

  double time_low = 1.0;  // engine-level range, correlated over the whole step
  double time_high = 1.0;
  bool primitives_correlated = false;  // generation defaults are off together, fits are not
};

}  // namespace roofcast
