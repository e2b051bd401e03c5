#pragma once

#include <string_view>

namespace roofcast {

inline constexpr std::string_view kVersion = ROOFCAST_VERSION;

}  // namespace roofcast
