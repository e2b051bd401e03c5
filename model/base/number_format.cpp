#include "model/base/number_format.hpp"

#include <utility>

namespace roofcast {
namespace {

constexpr std::array kAliases = {
    std::pair<std::string_view, std::string_view>{"f32", "fp32"},
    std::pair<std::string_view, std::string_view>{"float32", "fp32"},
    std::pair<std::string_view, std::string_view>{"f16", "fp16"},
    std::pair<std::string_view, std::string_view>{"float16", "fp16"},
    std::pair<std::string_view, std::string_view>{"half", "fp16"},
    std::pair<std::string_view, std::string_view>{"bfloat16", "bf16"},
    std::pair<std::string_view, std::string_view>{"fp8", "fp8_e4m3"},
    std::pair<std::string_view, std::string_view>{"f8", "fp8_e4m3"},
    std::pair<std::string_view, std::string_view>{"float8_e4m3fn", "fp8_e4m3"},
    std::pair<std::string_view, std::string_view>{"float8_e5m2", "fp8_e5m2"},
    std::pair<std::string_view, std::string_view>{"int4", "int4_g128"},
    std::pair<std::string_view, std::string_view>{"awq", "awq_g128"},
    std::pair<std::string_view, std::string_view>{"gptq", "gptq_g128"},
    std::pair<std::string_view, std::string_view>{"fp4", "nvfp4"},
};

constexpr std::array<std::string_view, 6> kComputeKindNames = {"fp32", "fp16", "bf16",
                                                               "fp8",  "int8", "fp4"};

}  // namespace

std::string_view compute_kind_name(ComputeKind kind) {
  return kComputeKindNames[static_cast<std::size_t>(kind)];
}

std::optional<FormatId> find_format(std::string_view name) {
  for (const auto& [alias, target] : kAliases)
    if (alias == name) name = target;
  for (std::size_t i = 0; i < kNumberFormats.size(); ++i)
    if (kNumberFormats[i].name == name) return FormatId{static_cast<int>(i)};
  return std::nullopt;
}

std::optional<FormatId> find_ggml_format(int ggml_type) {
  if (ggml_type < 0) return std::nullopt;
  for (std::size_t i = 0; i < kNumberFormats.size(); ++i)
    if (kNumberFormats[i].ggml_type == ggml_type) return FormatId{static_cast<int>(i)};
  return std::nullopt;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const NumberFormat& format : kNumberFormats) names.emplace_back(format.name);
  return names;
}

}  // namespace roofcast
