#pragma once

#include "model/base/spec_reader.hpp"

namespace roofcast {

/// What quantities of a machine and of its calibration may be. Far wider than anything built: what
/// lies outside is a slip of the prefix.
inline constexpr QuantityRange kMemoryRange{1e6, 1e18};         // B of a memory
inline constexpr QuantityRange kCacheRange{1e3, 1e15};          // B of a cache
inline constexpr QuantityRange kWorkingSetRange{1.0, 1e18};     // B moved by one kernel
inline constexpr QuantityRange kByteRateRange{1e6, 1e18};       // B/s
inline constexpr QuantityRange kOperationRateRange{1e6, 1e21};  // FLOP/s, OP/s
inline constexpr QuantityRange kClockRange{1e6, 1e11};          // Hz
inline constexpr QuantityRange kPowerRange{0.1, 1e7};           // W
inline constexpr QuantityRange kPriceRange{1e-3, 1e6};          // USD/h
/// Times of one kernel or collective; fits often give zero.
inline constexpr QuantityRange kKernelTimeRange{0.0, 1000.0};  // s

}  // namespace roofcast
