#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "model/architecture/architecture_spec.hpp"
#include "model/operators/operator.hpp"
#include "sim/cost_model.hpp"
#include "sim/workload.hpp"

namespace roofcast {

/// What a step's time is spent on. Every second of a step belongs to exactly one.
enum class TimeShare { weights, kv, state, activations, compute, communication, launch, host };

inline constexpr std::array<std::string_view, 8> kTimeShareNames = {
    "weights", "kv", "state", "activations", "compute", "communication", "launch", "host"};

/// Seconds by `TimeShare`.
using ShareSeconds = std::array<double, kTimeShareNames.size()>;

/// Time of one operator in one layer. `fixed_s` is launch and latency, `memory_s` and `compute_s`
/// the two roofline times before overlap, `extra_s` work that overlaps with neither.
struct OperatorCost {
  double fixed_s = 0.0;
  double memory_s = 0.0;
  double compute_s = 0.0;
  double extra_s = 0.0;
  double seconds = 0.0;
  double low = 1.0;  // 10 % and 90 % quantiles of measured / predicted time
  double high = 1.0;
  ShareSeconds shares = {};
};

/// The ceilings that an operator of this kind and these formats meets: attainable bytes/s, FLOP/s,
/// and the quantiles of measured / predicted time.
struct OperatorCeiling {
  double bandwidth = 0.0;
  double flops = 0.0;
  double norm = 2.5;  // how memory and compute overlap
  double low = 1.0;
  double high = 1.0;
  ComputeFormat stored = ComputeFormat::bf16;      // decides the bandwidth
  ComputeFormat multiplied = ComputeFormat::bf16;  // decides the FLOP/s
};
OperatorCeiling operator_ceiling(const Operator& op, const CostModel& model);

/// The least time of `op` that the data sheet allows: its bytes at peak bandwidth (what a cache
/// still holds of `working_set_bytes` at the cache's), its FLOPs at peak rate, its collective at
/// the link's.
double least_seconds(const Operator& op, const CostModel& model, double working_set_bytes);

/// Time of one forward pass. `low_s` and `high_s` bound it with 80 % confidence.
struct StepEstimate {
  double seconds = 0.0;
  double low_s = 0.0;
  double high_s = 0.0;
  double device_s = 0.0;      // sum over operators
  double host_floor_s = 0.0;  // time the host needs to issue the kernels
  ShareSeconds shares = {};   // seconds; add up to `seconds`
  StepWork work;              // per rank

  TimeShare bound() const;  // the largest share
};

/// Decode over a generation: means over its steps.
struct DecodeEstimate {
  StepEstimate step;                        // mean step: seconds is TPOT
  double tokens_per_second = 0.0;           // all sequences
  double tokens_per_second_per_user = 0.0;  // one sequence
};

struct PrefillEstimate {
  double ttft_s = 0.0;
  double ttft_low_s = 0.0;
  double ttft_high_s = 0.0;
  int passes = 0;
};

/// Cost of one operator that runs in one layer of one rank. `working_set` is what the whole pass
/// reads, in bytes: it decides how much a last-level cache can hold from one step to the next.
OperatorCost cost_operator(const Operator& op, const CostModel& model, double working_set_bytes);

/// Costs every operator of a pass and adds them up: max(device, host floor) + host work per step.
StepEstimate estimate_step(const OperatorList& operators, const CostModel& model);

/// Mean decode step while the context grows from `load.context` by `load.output_tokens`. `scratch`
/// is reused between calls.
DecodeEstimate estimate_decode(const ArchitectureSpec& spec, const Workload& load,
                               const CostModel& model, OperatorList& scratch);

/// Time to first token of one prompt of `load.context` tokens on an otherwise idle machine: prefill
/// in the engine's chunks; the last chunk yields the token. An empty prompt costs one decode step.
PrefillEstimate estimate_prefill(const ArchitectureSpec& spec, const Workload& load,
                                 const CostModel& model, OperatorList& scratch);

}  // namespace roofcast
