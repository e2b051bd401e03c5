#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/number_format.hpp"

namespace roofcast {

/// A format in which a machine multiplies, with a peak rate of its own in the data sheet. Storage
/// formats of tensors are `NumberFormat`s; `compute_format` maps what they multiply in to this.
enum class ComputeFormat { fp64, fp32, tf32, fp16, bf16, fp8, int8, fp6, fp4, int4 };

/// Keys of `compute:` in a machine file, in the order of `ComputeFormat`.
inline constexpr std::array<std::string_view, 10> kComputeFormatNames = {
    "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp6", "fp4", "int4"};
inline constexpr std::size_t kComputeFormats = kComputeFormatNames.size();

std::string_view compute_format_name(ComputeFormat format);

/// The format called `name`; empty when there is none.
std::optional<ComputeFormat> find_compute_format(std::string_view name);

/// What operands of this kind multiply in on a machine that has units for it.
ComputeFormat compute_format(ComputeKind kind);

/// True for operands of one byte or less, for which kernels reach other shares of their peaks.
bool is_narrow(ComputeFormat format);

/// The formats whose peak stands in, in this order, on a machine without one for `format`; `format`
/// itself comes first. Narrow operands are widened to 16 bits, because that is what kernels do on
/// chips without the units: weight-only kernels dequantise into bf16 or fp16, and fp16 serves bf16.
/// Integers never stand in for floats or the reverse. fp32 falls to the matrix formats because some
/// accelerators publish nothing else; that overstates it. fp64 has no substitute.
const std::vector<ComputeFormat>& fallback_formats(ComputeFormat format);

}  // namespace roofcast
