#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace roofcast {

/// Instruction sets that the CPU kernels are compiled for, slowest first. The last includes VBMI,
/// which looks up bytes: of CPUs with AVX-512 BF16 only Cooper Lake lacks it.
enum class IsaLevel { portable, avx2, avx512_bf16 };

inline constexpr std::array<std::string_view, 3> kIsaNames = {"portable", "avx2", "avx512_bf16"};

constexpr std::string_view isa_name(IsaLevel level) {
  return kIsaNames[static_cast<std::size_t>(level)];
}

/// Whether this build has kernels for `level` and this CPU runs them.
bool isa_supported(IsaLevel level);

/// All levels that are supported here, slowest first; never empty.
std::vector<IsaLevel> supported_isas();

/// The fastest supported level.
IsaLevel best_isa();

}  // namespace roofcast
