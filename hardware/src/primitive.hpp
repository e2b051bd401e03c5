#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace roofcast {

/// The kernels that costs are known for. An operator of the model is costed as one of them.
enum class Primitive { read, gemm, attention, mla, moe, state, elementwise };

/// Keys in generations.yaml (but for `state`, which is taken as a read where nobody measured it)
/// and, with a format behind ("gemm_bf16"), in calibration files.
inline constexpr std::array<std::string_view, 7> kPrimitiveNames = {
    "read", "gemm", "attention", "mla", "moe", "state", "elementwise"};
inline constexpr std::size_t kPrimitives = kPrimitiveNames.size();

inline std::string_view primitive_name(Primitive primitive) {
  return kPrimitiveNames[static_cast<std::size_t>(primitive)];
}

}  // namespace roofcast
