#include "sim/make_cost_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "hardware/src/all_reduce.hpp"
#include "hardware/src/ceilings.hpp"
#include "model/operators/decode_step.hpp"
#include "sim/step_estimate.hpp"

namespace roofcast {
namespace {

/// Which measured kernel stands for a kind of operator.
Primitive primitive_of(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::gemm:
      return Primitive::gemm;
    case OperatorKind::attention:
      return Primitive::attention;
    case OperatorKind::mla:
      return Primitive::mla;
    case OperatorKind::moe:
      return Primitive::moe;
    case OperatorKind::state:
      return Primitive::state;
    case OperatorKind::elementwise:
    case OperatorKind::collective:
      break;
  }
  return Primitive::elementwise;
}

double launch_seconds(const Ceiling& ceiling, LaunchMode mode) {
  switch (mode) {
    case LaunchMode::none:
      return 0.0;
    case LaunchMode::graph:
      return ceiling.t0_graph.value;
    case LaunchMode::stream:
      break;
  }
  return ceiling.t0_stream.value;
}

Ceiling ceiling_of(const Machine& machine, const EngineProfile& engine, OperatorKind kind,
                   ComputeFormat format) {
  return engine.ceilings == CeilingBasis::peak
             ? ideal_ceiling(machine, format)
             : attainable_ceiling(machine, primitive_of(kind), format);
}

/// How operands are stored or multiplied.
constexpr std::array kFormats = {ComputeFormat::fp32, ComputeFormat::fp16, ComputeFormat::bf16,
                                 ComputeFormat::fp8,  ComputeFormat::int8, ComputeFormat::fp4,
                                 ComputeFormat::int4};

PrimitiveCost make_primitive(const Machine& machine, const EngineProfile& engine,
                             OperatorKind kind) {
  PrimitiveCost cost;
  for (const ComputeFormat format : kFormats) {
    const auto i = static_cast<std::size_t>(format);
    const Ceiling ceiling = ceiling_of(machine, engine, kind, format);
    cost.bandwidth[i] = ceiling.bandwidth.value;
    cost.flops[i] = ceiling.flops.value;
    cost.norm[i] = ceiling.norm.value_or(0.0);
    cost.low[i] = ceiling.low;
    cost.high[i] = ceiling.high;
    cost.measured[i] = ceiling.calibrated;
    cost.unmeasured[i] =
        machine.calibration && engine.ceilings == CeilingBasis::attainable && !ceiling.calibrated;
  }
  const Ceiling usual = ceiling_of(machine, engine, kind, ComputeFormat::bf16);
  cost.fixed_s = launch_seconds(usual, engine.launch) + engine.kernel_overhead.value;
  cost.origin = usual.origin;
  return cost;
}

/// Tiles and latency terms describe how kernels of a GPU work; a CPU's kernels compute exactly the
/// rows and tokens that there are. Rows are padded to 8, the narrow side of a matrix instruction:
/// measured bf16 kernels cannot tell 8 from 64, but 64 would make 4-bit weights compute-bound at
/// batch 1, which they are not.
void set_kernel_terms(const Machine& machine, const EngineProfile& engine, CostModel& model) {
  if (machine.spec.kind != MachineKind::cpu) {
    model.row_tile = 8.0;
    model.context_tile = 128.0;
    model.mla_context_tile = 64.0;
    model.mla_head_tile = 16.0;
  }
  const auto usual = [&](OperatorKind kind) {
    return ceiling_of(machine, engine, kind, ComputeFormat::bf16);
  };
  const Ceiling attention = usual(OperatorKind::attention);
  model.units = static_cast<double>(machine.spec.compute_units.value);
  model.gemm_sqrt_k_s = usual(OperatorKind::gemm).c_k.value;
  model.attention_kv_head_s = attention.c1.value;
  model.attention_head_s = attention.c2.value;
  model.mla_head_block_s = usual(OperatorKind::mla).c_mla.value;
  model.moe_io_bandwidth = usual(OperatorKind::moe).io_bandwidth.value;
}

/// Takes what was measured with FLOPs of its own. Fits of published kernels give a bandwidth only.
void set_narrow_attention(const Machine& machine, const EngineProfile& engine, CostModel& model) {
  if (!machine.calibration) return;
  for (const ComputeFormat kind : {ComputeFormat::fp8, ComputeFormat::int8}) {
    const auto* const fitted = find_primitive(
        *machine.calibration,
        fmt::format("{}_{}", primitive_name(Primitive::attention), compute_format_name(kind)));
    if (fitted == nullptr || !fitted->flops) continue;
    const Ceiling ceiling = ceiling_of(machine, engine, OperatorKind::attention, kind);
    model.narrow_attention[static_cast<std::size_t>(kind)] = {
        .measured = true,
        .fixed_s = launch_seconds(ceiling, engine.launch) + engine.kernel_overhead.value,
        .flops = ceiling.flops.value,
        .kv_head_s = ceiling.c1.value,
        .head_s = ceiling.c2.value};
  }
}

void set_cache(const Machine& machine, CostModel& model) {
  if (machine.calibration && machine.calibration->cache_read) {
    model.cache_bytes = machine.calibration->cache_read->size.value;
    model.cache_bandwidth = machine.calibration->cache_read->bandwidth.value;
  } else if (machine.spec.cache.size && machine.spec.cache.bandwidth) {
    model.cache_bytes = machine.spec.cache.size->value.value;
    model.cache_bandwidth = machine.spec.cache.bandwidth->value.value;
  }
}

/// The ideal engine's collectives cost what their bytes take on the link, and nothing else.
void set_collectives(const Machine& machine, const EngineProfile& engine, int tp,
                     CostModel& model) {
  const BytesPerSecond peak = all_reduce_link(machine.spec, tp).bandwidth.value;
  model.least_all_reduce = {.a1 = {}, .b1 = {}, .w1 = peak, .a2 = {}, .b2 = {}, .w2 = peak};
  model.all_reduce = engine.ceilings == CeilingBasis::attainable
                         ? all_reduce_ceiling(machine, tp).constants
                         : model.least_all_reduce;
}

void set_range(const Machine& machine, const EngineProfile& engine, CostModel& model) {
  model.time_low = engine.time_low;
  model.time_high = engine.time_high;
  model.primitives_correlated = !machine.calibration.has_value();
}

}  // namespace

CostModel make_cost_model(const Machine& machine, const EngineProfile& engine, int tp) {
  if (tp < 1) throw std::invalid_argument("tensor parallelism needs at least one device");
  CostModel model;
  for (std::size_t i = 0; i < kOperatorKinds; ++i)
    model.primitives[i] = make_primitive(machine, engine, static_cast<OperatorKind>(i));
  const bool ideal = engine.ceilings == CeilingBasis::peak;
  if (ideal) {
    model.norm_exponent = std::numeric_limits<double>::infinity();
  } else {
    set_kernel_terms(machine, engine, model);
    set_narrow_attention(machine, engine, model);
    set_cache(machine, model);
  }
  if (tp > 1) set_collectives(machine, engine, tp, model);

  model.peak_bandwidth = machine.spec.memory.front().bandwidth.value.value;
  for (const ComputeFormat format : kFormats)
    model.peak_flops[static_cast<std::size_t>(format)] =
        peak_flops(machine.spec, format).flops.value;
  model.layer_overhead_s = engine.layer_overhead.value;
  model.host_per_kernel_s = engine.host_per_kernel.value;
  model.host_per_step_s = engine.host_per_step.value;
  model.prefill_chunk = engine.prefill_chunk;
  set_range(machine, engine, model);
  return model;
}

std::vector<std::string> unmeasured_primitives(const ArchitectureSpec& spec, const Workload& load,
                                               const CostModel& model) {
  std::vector<std::string> names;
  for (const Operator& op : decode_step(spec, {.sequences = static_cast<double>(load.batch),
                                              .context = static_cast<double>(load.context),
                                              .tp = load.tp})) {
    const ComputeFormat stored = operator_ceiling(op, model).stored;
    const PrimitiveCost& cost = model.primitives[static_cast<std::size_t>(op.kind)];
    if (op.kind == OperatorKind::collective || !cost.unmeasured[static_cast<std::size_t>(stored)])
      continue;
    const Primitive primitive = primitive_of(op.kind);
    std::string name(primitive_name(primitive));
    if (primitive != Primitive::read && primitive != Primitive::elementwise)
      name += fmt::format("_{}", compute_format_name(stored));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::vector<std::string> unmeasured_warnings(const std::vector<std::string>& unmeasured) {
  if (unmeasured.empty()) return {};
  return {
      fmt::format("the calibration has no {}: efficiency and range are those typical of the "
                  "machine's generation",
                  fmt::join(unmeasured, ", "))};
}

std::string range_reason(const CostModel& model, const std::vector<std::string>& unmeasured) {
  if (model.time_low == 1.0 && model.time_high == 1.0 &&
      model.primitives.front().low == filled(1.0) && model.primitives.front().high == filled(1.0))
    return "none: a bound from the data sheet, which no engine beats";
  if (model.primitives_correlated)
    return "uncalibrated machine: kernels around the efficiencies of its generation, off together; "
           "a serving framework's own time comes on top";
  if (!unmeasured.empty())
    return fmt::format(
        "residuals of this machine's calibration, but typical of its generation for {}",
        fmt::join(unmeasured, ", "));
  return "residuals of this machine's calibration";
}

}  // namespace roofcast
