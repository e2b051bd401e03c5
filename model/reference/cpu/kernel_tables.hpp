#pragma once

#include "model/reference/cpu/kernels.hpp"

namespace roofcast::detail {

/// One table per instruction set, each made in its own source compiled for that set. The x86 ones
/// exist in builds for x86 only.
const Kernels& portable_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_bf16_kernels();

}  // namespace roofcast::detail
