#include <algorithm>
#include <cmath>
#include <limits>

#include "hardware/src/all_reduce.hpp"
#include "sim/step_estimate.hpp"

namespace roofcast {
namespace {

double padded(double amount, double tile) {
  return tile <= 1.0 ? amount : std::ceil(amount / tile) * tile;
}

/// Memory and compute time overlapped: their p-norm, and the part of it that memory causes
/// (m^p / (m^p + c^p)). p = 2.5 is the corner that measured GEMM and attention kernels show; an
/// infinite p is the classic roofline.
struct Overlap {
  double seconds = 0.0;
  double memory_part = 1.0;
};

Overlap overlap(double memory_s, double compute_s, double exponent) {
  const bool memory_larger = memory_s >= compute_s;
  const double larger = memory_larger ? memory_s : compute_s;
  const double smaller = memory_larger ? compute_s : memory_s;
  if (larger <= 0.0) return {};
  const double ratio = smaller / larger;
  if (std::isinf(exponent) || ratio < 1e-4) return {larger, memory_larger ? 1.0 : 0.0};
  // The default exponent has a cheap form, and this is the inner loop of sweeps.
  const double power =
      exponent == 2.5 ? ratio * ratio * std::sqrt(ratio) : std::pow(ratio, exponent);
  const double larger_part = 1.0 / (1.0 + power);
  return {larger * std::pow(1.0 + power, 1.0 / exponent),
          memory_larger ? larger_part : 1.0 - larger_part};
}

/// Cached tokens are read in tiles: what a kernel moves for `op` beyond its cached bytes.
double padded_cache_bytes(const Operator& op, double tile) {
  const double tokens = op.shape.tokens_read;
  return tokens > 0.0 ? op.bytes.kv_read.value * padded(tokens, tile) / tokens : 0.0;
}

/// FLOPs with rows padded to the tile that matrix units work on.
double padded_flops(const Operator& op, const CostModel& model) {
  const OperatorShape& s = op.shape;
  switch (op.kind) {
    case OperatorKind::gemm:
      return op.flops.value * padded(s.m, model.row_tile) / s.m;
    case OperatorKind::mla:
      return op.flops.value * padded(s.heads, model.mla_head_tile) / s.heads;
    case OperatorKind::moe: {
      const double pairs = s.m * s.experts_per_token;
      const double per_expert = pairs / s.experts_hit;
      // An even share of whole tiles comes out a trifle larger when the odd expert is missed.
      constexpr double kTrifle = 0.05;  // rows
      const double rows = std::max(padded(per_expert - kTrifle, model.row_tile), per_expert);
      return op.flops.value * rows / per_expert;
    }
    default:
      return op.flops.value;
  }
}

/// Bytes that move at the primitive's bandwidth. Expert token traffic has a bandwidth of its own.
double streamed_bytes(const Operator& op, const CostModel& model) {
  const Traffic& b = op.bytes;
  const double rest = b.weights.value + b.kv_write.value + b.state.value;
  switch (op.kind) {
    case OperatorKind::attention:
      return rest + b.activations.value + padded_cache_bytes(op, model.context_tile);
    case OperatorKind::mla:
      return rest + b.activations.value + padded_cache_bytes(op, model.mla_context_tile);
    case OperatorKind::moe:
      return model.moe_io_bandwidth > 0.0 ? rest : rest + b.activations.value;
    default:
      return rest + b.activations.value + b.kv_read.value;
  }
}

/// What the kernel reads its cache or weights as. A cache of a byte or less per element is
/// converted while it is read, whatever it multiplies in. Kernels for weights that are stored in
/// fewer bits than they multiply in (GGUF, AWQ) differ by width: of those of about 8 and of about 4
/// bits, the calibration of a machine may have one; else they count as what they multiply in.
ComputeFormat stored_format(const Operator& op, const CostModel& model) {
  const NumberFormat& format = op.format.row();
  const double bits = format.bits_per_element();
  if (format.compute <= ComputeKind::bf16 && bits < 12.0) {
    if (op.kind == OperatorKind::attention || op.kind == OperatorKind::mla)
      return ComputeFormat::fp8;
    const ComputeFormat narrow = bits < 6.0 ? ComputeFormat::int4 : ComputeFormat::int8;
    const PrimitiveCost& primitive = model.primitives[static_cast<std::size_t>(op.kind)];
    if (primitive.measured[static_cast<std::size_t>(narrow)]) return narrow;
  }
  return compute_format(format.compute);
}

/// Attention on a narrow cache as it was measured; nullptr for other operators and machines.
const NarrowAttention* narrow_attention(const Operator& op, const CostModel& model) {
  if (op.kind != OperatorKind::attention) return nullptr;
  const NarrowAttention& own =
      model.narrow_attention[static_cast<std::size_t>(stored_format(op, model))];
  return own.measured ? &own : nullptr;
}

/// Latency terms that measured kernels show beside bytes and FLOPs; linear in their constants.
double latency_terms(const Operator& op, const CostModel& model) {
  const OperatorShape& s = op.shape;
  switch (op.kind) {
    case OperatorKind::gemm:
      return model.gemm_sqrt_k_s > 0.0 ? model.gemm_sqrt_k_s * std::sqrt(s.k / 1000.0) : 0.0;
    case OperatorKind::attention: {
      const NarrowAttention* const narrow = narrow_attention(op, model);
      const double kv_head_s = narrow ? narrow->kv_head_s : model.attention_kv_head_s;
      const double head_s = narrow ? narrow->head_s : model.attention_head_s;
      return s.sequences / model.units * (kv_head_s * s.kv_heads + head_s * s.heads);
    }
    case OperatorKind::mla:
      return model.mla_head_block_s * s.sequences * std::ceil(s.heads / 64.0) / model.units;
    default:
      return 0.0;
  }
}

/// Seconds per byte when `working_set` bytes are read every step: what a last-level cache still
/// holds from the step before comes from it. The edge is blended, since a cache under streaming
/// loses more than its size says (hit fraction 1 / (1 + (S / 0.85 C)^6)).
double seconds_per_byte(double bandwidth, const CostModel& model, double working_set) {
  const double memory = 1.0 / bandwidth;
  if (model.cache_bandwidth <= bandwidth || model.cache_bytes <= 0.0) return memory;
  const double fill = working_set / (0.85 * model.cache_bytes);
  const double cube = fill * fill * fill;
  const double hits = 1.0 / (1.0 + cube * cube);
  return (1.0 - hits) * memory + hits / model.cache_bandwidth;
}

void add_memory_shares(const Operator& op, double seconds, ShareSeconds& shares) {
  const Traffic& b = op.bytes;
  const double total = b.memory().value;
  if (total <= 0.0) return;
  const double per_byte = seconds / total;
  shares[static_cast<std::size_t>(TimeShare::weights)] += b.weights.value * per_byte;
  shares[static_cast<std::size_t>(TimeShare::kv)] +=
      (b.kv_read.value + b.kv_write.value) * per_byte;
  shares[static_cast<std::size_t>(TimeShare::state)] += b.state.value * per_byte;
  shares[static_cast<std::size_t>(TimeShare::activations)] += b.activations.value * per_byte;
}

OperatorCost cost_collective(const Operator& op, const CostModel& model) {
  OperatorCost cost;
  cost.seconds =
      all_reduce_seconds(model.all_reduce, op.bytes.collective, static_cast<int>(op.shape.ranks))
          .value;
  cost.extra_s = cost.seconds;
  cost.shares[static_cast<std::size_t>(TimeShare::communication)] = cost.seconds;
  const PrimitiveCost& primitive = model.primitives[static_cast<std::size_t>(op.kind)];
  cost.low = primitive.low.front();
  cost.high = primitive.high.front();
  return cost;
}

}  // namespace

OperatorCeiling operator_ceiling(const Operator& op, const CostModel& model) {
  const PrimitiveCost& primitive = model.primitives[static_cast<std::size_t>(op.kind)];
  const ComputeFormat stored = stored_format(op, model);
  // MLA multiplies its latents as they are stored, measured kernels their weights; other kernels
  // widen what is narrow first.
  const bool weights = op.kind == OperatorKind::gemm || op.kind == OperatorKind::moe;
  const ComputeFormat multiplied =
      weights && primitive.measured[static_cast<std::size_t>(stored)] ? stored
      : op.kind == OperatorKind::mla ? compute_format(op.format.row().compute)
                                     : compute_format(op.compute);
  const auto at = static_cast<std::size_t>(stored);
  const NarrowAttention* const narrow = narrow_attention(op, model);
  return {.bandwidth = primitive.bandwidth[at],
          .flops = narrow ? narrow->flops : primitive.flops[static_cast<std::size_t>(multiplied)],
          .norm = primitive.norm[at] > 0.0 ? primitive.norm[at] : model.norm_exponent,
          .low = primitive.low[at],
          .high = primitive.high[at],
          .stored = stored,
          .multiplied = multiplied};
}

double least_seconds(const Operator& op, const CostModel& model, double working_set_bytes) {
  if (op.kind == OperatorKind::collective)
    return all_reduce_seconds(model.least_all_reduce, op.bytes.collective,
                              static_cast<int>(op.shape.ranks))
        .value;
  const double compute =
      std::max(model.peak_flops[static_cast<std::size_t>(compute_format(op.compute))],
               model.peak_flops[static_cast<std::size_t>(operator_ceiling(op, model).multiplied)]);
  const double memory_s = model.peak_bandwidth > 0.0
                              ? op.bytes.memory().value *
                                    seconds_per_byte(model.peak_bandwidth, model, working_set_bytes)
                              : 0.0;
  return std::max(memory_s, compute > 0.0 ? op.flops.value / compute : 0.0);
}

OperatorCost cost_operator(const Operator& op, const CostModel& model, double working_set_bytes) {
  if (op.kind == OperatorKind::collective) return cost_collective(op, model);
  const PrimitiveCost& primitive = model.primitives[static_cast<std::size_t>(op.kind)];
  const OperatorCeiling ceiling = operator_ceiling(op, model);

  OperatorCost cost;
  const NarrowAttention* const narrow = narrow_attention(op, model);
  cost.fixed_s = (narrow ? narrow->fixed_s : primitive.fixed_s) + latency_terms(op, model);
  cost.memory_s =
      streamed_bytes(op, model) * seconds_per_byte(ceiling.bandwidth, model, working_set_bytes);
  if (op.flops.value > 0.0) cost.compute_s = padded_flops(op, model) / ceiling.flops;
  const Overlap both = overlap(cost.memory_s, cost.compute_s, ceiling.norm);

  const double memory_s = both.seconds * both.memory_part;
  if (op.kind == OperatorKind::moe && model.moe_io_bandwidth > 0.0) {
    cost.extra_s = op.bytes.activations.value / model.moe_io_bandwidth;
    cost.shares[static_cast<std::size_t>(TimeShare::activations)] = cost.extra_s;
    cost.shares[static_cast<std::size_t>(TimeShare::weights)] = memory_s;
  } else {
    add_memory_shares(op, memory_s, cost.shares);
  }
  cost.shares[static_cast<std::size_t>(TimeShare::compute)] = both.seconds - memory_s;
  cost.shares[static_cast<std::size_t>(TimeShare::launch)] = cost.fixed_s;
  cost.seconds = cost.fixed_s + both.seconds + cost.extra_s;
  cost.low = ceiling.low;
  cost.high = ceiling.high;
  return cost;
}

}  // namespace roofcast
