#include "hardware/src/ceilings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofcast {
namespace {

const PrimitiveDefaults& defaults_of(const Generation& generation, Primitive primitive) {
  return generation.primitives[static_cast<std::size_t>(primitive)];
}

Ceiling generation_ceiling(const Machine& machine, Primitive primitive, ComputeFormat format) {
  const Generation& generation = machine.generation;
  const PrimitiveDefaults& row = defaults_of(generation, primitive);
  const PeakFlops peak = peak_flops(machine.spec, format);
  const BytesPerSecond memory = machine.spec.memory.front().bandwidth.value;
  // The stored operands decide how bytes move; the format computed in decides the FLOP share.
  const bool narrow = is_narrow(format);
  const double bytes_share = narrow ? row.bandwidth_fp8.value_or(row.bandwidth) : row.bandwidth;
  const double low = row.low.value_or(generation.low);
  const double high = row.high.value_or(generation.high);
  const double flops_share = is_narrow(peak.format) ? row.flops_fp8.value_or(row.flops) : row.flops;
  return {.bandwidth = memory * bytes_share,
          .flops = peak.flops * flops_share,
          .t0_stream = generation.launch_stream,
          .t0_graph = generation.launch_graph,
          .c_k = row.c_k,
          .c1 = row.c1,
          .c2 = row.c2,
          .c_mla = row.c_mla,
          .io_bandwidth = memory * row.io_bandwidth,
          .low = narrow ? row.low_fp8.value_or(low) : low,
          .high = narrow ? row.high_fp8.value_or(high) : high,
          .calibrated = false,
          .origin = fmt::format("generation {}: {}", generation.name, row.origin)};
}

std::string calibration_origin(const Calibration& calibration, std::string_view what) {
  return fmt::format("calibrated {} ({}, {})", what, calibration.provenance.device,
                     calibration.provenance.date);
}

/// Fixed times were fitted together with the slope: absent ones are zero, not the generation's.
void apply(const CalibratedPrimitive& fitted, Ceiling& ceiling) {
  ceiling.bandwidth = fitted.bandwidth.value_or(ceiling.bandwidth);
  ceiling.flops = fitted.flops.value_or(ceiling.flops);
  ceiling.t0_stream = fitted.t0.value_or(fitted.t0_graph.value_or(Seconds{}));
  ceiling.t0_graph = fitted.t0_graph.value_or(ceiling.t0_stream);
  ceiling.c_k = fitted.c_k.value_or(Seconds{});
  ceiling.c1 = fitted.c1.value_or(Seconds{});
  ceiling.c2 = fitted.c2.value_or(Seconds{});
  ceiling.c_mla = fitted.c_mla.value_or(Seconds{});
  ceiling.io_bandwidth = fitted.io_bandwidth.value_or(ceiling.io_bandwidth);
  ceiling.norm = fitted.norm;
  ceiling.low = fitted.low;
  ceiling.high = fitted.high;
  ceiling.calibrated = true;
}

/// A primitive that was not measured, on a machine whose reads were.
void scale_to_read(const Machine& machine, const CalibratedPrimitive& read, Ceiling& ceiling) {
  const double nominal_read = defaults_of(machine.generation, Primitive::read).bandwidth *
                              machine.spec.memory.front().bandwidth.value.value;
  const double factor = read.bandwidth->value / nominal_read;
  ceiling.bandwidth = ceiling.bandwidth * factor;
  ceiling.io_bandwidth = ceiling.io_bandwidth * factor;
}

/// Experts in a format whose plain product was measured, on a machine whose 16-bit experts were:
/// those by the ratio of the plain products, with the residuals of both. False where a measurement
/// is missing.
bool apply_expert_ratio(const Calibration& calibration, ComputeFormat format, Ceiling& ceiling) {
  const auto find = [&](Primitive primitive, ComputeFormat f) {
    const CalibratedPrimitive* const found = find_primitive(calibration, primitive, f);
    return found != nullptr && found->bandwidth && found->flops ? found : nullptr;
  };
  const CalibratedPrimitive* const experts = find(Primitive::moe, ComputeFormat::bf16);
  const CalibratedPrimitive* const wide = find(Primitive::gemm, ComputeFormat::bf16);
  const CalibratedPrimitive* const narrow = find(Primitive::gemm, format);
  if (experts == nullptr || wide == nullptr || narrow == nullptr) return false;
  apply(*experts, ceiling);
  ceiling.bandwidth = ceiling.bandwidth * (*narrow->bandwidth / *wide->bandwidth);
  ceiling.flops = ceiling.flops * (*narrow->flops / *wide->flops);
  ceiling.low *= narrow->low;
  ceiling.high *= narrow->high;
  ceiling.origin = calibration_origin(
      calibration, fmt::format("{} x {} / {}", experts->name, narrow->name, wide->name));
  return true;
}

}  // namespace

Ceiling attainable_ceiling(const Machine& machine, Primitive primitive, ComputeFormat format) {
  Ceiling ceiling = generation_ceiling(machine, primitive, format);
  if (machine.calibration) {
    const Calibration& calibration = *machine.calibration;
    const CalibratedPrimitive* read = find_primitive(calibration, primitive_name(Primitive::read));
    const auto* fitted = find_primitive(calibration, primitive, format);
    const bool from_ratio = fitted == nullptr && primitive == Primitive::moe &&
                            apply_expert_ratio(calibration, format, ceiling);
    if (fitted != nullptr) {
      apply(*fitted, ceiling);
      ceiling.origin = calibration_origin(calibration, fitted->name);
    } else if (!from_ratio && read != nullptr && read->bandwidth) {
      scale_to_read(machine, *read, ceiling);
      ceiling.origin = fmt::format("{} x the ratio of {}", calibration_origin(calibration, "read"),
                                   ceiling.origin);
    }
  }
  const Ceiling ideal = ideal_ceiling(machine, format);
  ceiling.bandwidth = std::min(ceiling.bandwidth, ideal.bandwidth);
  ceiling.io_bandwidth = std::min(ceiling.io_bandwidth, ideal.bandwidth);
  ceiling.flops = std::min(ceiling.flops, ideal.flops);
  return ceiling;
}

Ceiling ideal_ceiling(const Machine& machine, ComputeFormat format) {
  Ceiling ceiling;
  ceiling.bandwidth = machine.spec.memory.front().bandwidth.value;
  ceiling.io_bandwidth = ceiling.bandwidth;
  ceiling.flops = peak_flops(machine.spec, format).flops;
  ceiling.origin = "data sheet peak";
  return ceiling;
}

}  // namespace roofcast
