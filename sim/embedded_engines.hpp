#pragma once

#include <span>

#include "model/base/embedded_file.hpp"

namespace roofcast {

/// The engine profiles shipped with the program: every sim/engines/*.yaml, sorted by name.
std::span<const EmbeddedFile> embedded_engines();

}  // namespace roofcast
