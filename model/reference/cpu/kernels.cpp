#include "model/reference/cpu/kernels.hpp"

#include <stdexcept>

#include "model/reference/cpu/kernel_tables.hpp"

#ifdef ROOFCAST_X86_KERNELS
#include <cpuid.h>
#endif

namespace roofcast {
#ifdef ROOFCAST_X86_KERNELS
namespace {

/// Asked of the CPU itself: not every compiler's __builtin_cpu_supports() knows the name.
bool has_f16c() {
  unsigned int a = 0;
  unsigned int b = 0;
  unsigned int c = 0;
  unsigned int d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & static_cast<unsigned int>(bit_F16C)) != 0;
}

}  // namespace
#endif

bool isa_supported(IsaLevel level) {
  if (level == IsaLevel::portable) return true;
#ifdef ROOFCAST_X86_KERNELS
  if (level == IsaLevel::avx2)
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c();
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
