#include "model/reference/cpu/kernels.hpp"

#include <stdexcept>

#include "model/reference/cpu/kernel_tables.hpp"

namespace roofcast {

bool isa_supported(IsaLevel level) {
  if (level == IsaLevel::portable) return true;
#ifdef ROOFCAST_X86_KERNELS
  if (level == IsaLevel::avx2)
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
           __builtin_cpu_supports("f16c") != 0;
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512vnni") != 0 &&
         __builtin_cpu_supports("avx512vbmi") != 0;
#else
  return false;
#endif
}

std::vector<IsaLevel> supported_isas() {
  std::vector<IsaLevel> levels;
  for (const IsaLevel level : {IsaLevel::portable, IsaLevel::avx2, IsaLevel::avx512_bf16})
    if (isa_supported(level)) levels.push_back(level);
  return levels;
}

IsaLevel best_isa() { return supported_isas().back(); }

const Kernels& kernels_for(IsaLevel level) {
  if (!isa_supported(level))
    throw std::invalid_argument("this machine has no kernels for " + std::string(isa_name(level)));
#ifdef ROOFCAST_X86_KERNELS
  if (level == IsaLevel::avx512_bf16) return detail::avx512_bf16_kernels();
  if (level == IsaLevel::avx2) return detail::avx2_kernels();
#endif
  return detail::portable_kernels();
}

}  // namespace roofcast
