#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// What a matrix unit multiplies in when an operand is stored in a format. Weight-only formats
/// (GGUF, AWQ, ...) are expanded first, so they compute at 16 bits.
enum class ComputeKind { fp32, fp16, bf16, fp8, int8, fp4 };

std::string_view compute_kind_name(ComputeKind kind);

/// A storage format of weights, KV cache or state: `block_elements` elements take `block_bits`
/// bits, scales and zero points included.
struct NumberFormat {
  std::string_view name;
  int block_elements;
  int block_bits;
  ComputeKind compute;
  int ggml_type;  // id in a GGUF file, -1 when GGUF has no such type
  std::string_view layout;

  constexpr double bits_per_element() const {
    return static_cast<double>(block_bits) / block_elements;
  }
  constexpr double bytes_per_element() const { return bits_per_element() / 8.0; }
};

/// The one table of number formats. GGUF block layouts: ggml's block structs (ggml-common.h);
/// MX formats: OCP Microscaling v1.0; NVFP4: one E4M3 scale per 16 elements (the per-tensor fp32
/// scale is below 1e-6 of the bytes and left out); int4 group formats: one fp16 scale per group,
/// AWQ and GPTQ with a 4-bit zero point more.
inline constexpr std::array kNumberFormats = {
    NumberFormat{"fp32", 1, 32, ComputeKind::fp32, 0, "IEEE binary32"},
    NumberFormat{"fp16", 1, 16, ComputeKind::fp16, 1, "IEEE binary16"},
    NumberFormat{"bf16", 1, 16, ComputeKind::bf16, 30, "bfloat16"},
    NumberFormat{"fp64", 1, 64, ComputeKind::fp32, 28, "IEEE binary64"},
    NumberFormat{"fp8_e4m3", 1, 8, ComputeKind::fp8, -1, "E4M3, one scale per tensor"},
    NumberFormat{"fp8_e5m2", 1, 8, ComputeKind::fp8, -1, "E5M2, one scale per tensor"},
    NumberFormat{"fp8_block128", 16384, 131104, ComputeKind::fp8, -1,
                 "E4M3, one fp32 scale per 128x128 block"},
    NumberFormat{"mxfp8", 32, 264, ComputeKind::fp8, -1, "E4M3, one E8M0 scale per 32"},
    NumberFormat{"int8", 1, 8, ComputeKind::int8, 24, "8-bit integer, one scale per channel"},
    NumberFormat{"int4_g32", 32, 144, ComputeKind::bf16, -1, "4-bit, one fp16 scale per 32"},
    NumberFormat{"int4_g128", 128, 528, ComputeKind::bf16, -1, "4-bit, one fp16 scale per 128"},
    NumberFormat{"awq_g128", 128, 532, ComputeKind::fp16, -1,
                 "4-bit, one fp16 scale and one 4-bit zero point per 128"},
    NumberFormat{"gptq_g128", 128, 532, ComputeKind::fp16, -1,
                 "4-bit, one fp16 scale and one 4-bit zero point per 128"},
    NumberFormat{"mxfp4", 32, 136, ComputeKind::bf16, 39, "E2M1, one E8M0 scale per 32"},
    NumberFormat{"nvfp4", 16, 72, ComputeKind::fp4, 40, "E2M1, one E4M3 scale per 16"},
    NumberFormat{"q4_0", 32, 144, ComputeKind::fp16, 2, "GGUF Q4_0"},
    NumberFormat{"q4_1", 32, 160, ComputeKind::fp16, 3, "GGUF Q4_1"},
    NumberFormat{"q5_0", 32, 176, ComputeKind::fp16, 6, "GGUF Q5_0"},
    NumberFormat{"q5_1", 32, 192, ComputeKind::fp16, 7, "GGUF Q5_1"},
    NumberFormat{"q8_0", 32, 272, ComputeKind::fp16, 8, "GGUF Q8_0"},
    NumberFormat{"q8_1", 32, 288, ComputeKind::fp16, 9, "GGUF Q8_1"},
    NumberFormat{"q2_K", 256, 672, ComputeKind::fp16, 10, "GGUF Q2_K"},
    NumberFormat{"q3_K", 256, 880, ComputeKind::fp16, 11, "GGUF Q3_K"},
    NumberFormat{"q4_K", 256, 1152, ComputeKind::fp16, 12, "GGUF Q4_K"},
    NumberFormat{"q5_K", 256, 1408, ComputeKind::fp16, 13, "GGUF Q5_K"},
    NumberFormat{"q6_K", 256, 1680, ComputeKind::fp16, 14, "GGUF Q6_K"},
    NumberFormat{"q8_K", 256, 2336, ComputeKind::fp16, 15, "GGUF Q8_K"},
    NumberFormat{"iq2_xxs", 256, 528, ComputeKind::fp16, 16, "GGUF IQ2_XXS"},
    NumberFormat{"iq2_xs", 256, 592, ComputeKind::fp16, 17, "GGUF IQ2_XS"},
    NumberFormat{"iq3_xxs", 256, 784, ComputeKind::fp16, 18, "GGUF IQ3_XXS"},
    NumberFormat{"iq1_s", 256, 400, ComputeKind::fp16, 19, "GGUF IQ1_S"},
    NumberFormat{"iq4_nl", 32, 144, ComputeKind::fp16, 20, "GGUF IQ4_NL"},
    NumberFormat{"iq3_s", 256, 880, ComputeKind::fp16, 21, "GGUF IQ3_S"},
    NumberFormat{"iq2_s", 256, 656, ComputeKind::fp16, 22, "GGUF IQ2_S"},
    NumberFormat{"iq4_xs", 256, 1088, ComputeKind::fp16, 23, "GGUF IQ4_XS"},
    NumberFormat{"int16", 1, 16, ComputeKind::fp16, 25, "16-bit integer"},
    NumberFormat{"int32", 1, 32, ComputeKind::fp32, 26, "32-bit integer"},
    NumberFormat{"int64", 1, 64, ComputeKind::fp32, 27, "64-bit integer"},
    NumberFormat{"iq1_m", 256, 448, ComputeKind::fp16, 29, "GGUF IQ1_M"},
    NumberFormat{"tq1_0", 256, 432, ComputeKind::fp16, 34, "GGUF TQ1_0"},
    NumberFormat{"tq2_0", 256, 528, ComputeKind::fp16, 35, "GGUF TQ2_0"},
    NumberFormat{"q1_0", 128, 144, ComputeKind::fp16, 41, "GGUF Q1_0"},
};

/// Index of a row of `kNumberFormats`; specs store this one word instead of a name.
struct FormatId {
  int index = 2;  // bf16
  bool operator==(const FormatId&) const = default;
  const NumberFormat& row() const { return kNumberFormats[static_cast<std::size_t>(index)]; }
  std::string_view name() const { return row().name; }
  double bytes_per_element() const { return row().bytes_per_element(); }
};

/// The format called `name` (aliases such as "f16", "float16", "bfloat16", "fp8" are known); empty
/// when there is none.
std::optional<FormatId> find_format(std::string_view name);

/// The format with this id in a GGUF file; empty for an unknown id.
std::optional<FormatId> find_ggml_format(int ggml_type);

/// Names of all formats, for `list` and for error messages.
std::vector<std::string> format_names();

}  // namespace roofcast
