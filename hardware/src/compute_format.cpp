#include "hardware/src/compute_format.hpp"

namespace roofcast {

std::string_view compute_format_name(ComputeFormat format) {
  return kComputeFormatNames[static_cast<std::size_t>(format)];
}

std::optional<ComputeFormat> find_compute_format(std::string_view name) {
  for (std::size_t i = 0; i < kComputeFormats; ++i)
    if (kComputeFormatNames[i] == name) return static_cast<ComputeFormat>(i);
  return std::nullopt;
}

ComputeFormat compute_format(ComputeKind kind) {
  switch (kind) {
    case ComputeKind::fp32:
      return ComputeFormat::fp32;
    case ComputeKind::fp16:
      return ComputeFormat::fp16;
    case ComputeKind::bf16:
      return ComputeFormat::bf16;
    case ComputeKind::fp8:
      return ComputeFormat::fp8;
    case ComputeKind::int8:
      return ComputeFormat::int8;
    case ComputeKind::fp4:
      break;
  }
  return ComputeFormat::fp4;
}

bool is_narrow(ComputeFormat format) { return format >= ComputeFormat::fp8; }

const std::vector<ComputeFormat>& fallback_formats(ComputeFormat format) {
  using F = ComputeFormat;
  static const std::array<std::vector<F>, kComputeFormats> chains = {{
      {F::fp64},
      {F::fp32, F::tf32, F::bf16, F::fp16},
      {F::tf32, F::fp32, F::bf16, F::fp16},
      {F::fp16, F::bf16, F::fp32},
      {F::bf16, F::fp16, F::fp32},
      {F::fp8, F::bf16, F::fp16, F::fp32},
      {F::int8, F::bf16, F::fp16, F::fp32},
      {F::fp6, F::fp8, F::bf16, F::fp16, F::fp32},
      {F::fp4, F::bf16, F::fp16, F::fp32},
      {F::int4, F::bf16, F::fp16, F::fp32},
  }};
  return chains[static_cast<std::size_t>(format)];
}

}  // namespace roofcast
