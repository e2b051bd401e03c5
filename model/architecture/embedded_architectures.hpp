#pragma once

#include <span>

#include "model/base/embedded_file.hpp"

namespace roofcast {

/// The architectures shipped with the program: every architectures/*.yaml, sorted by name.
std::span<const EmbeddedFile> embedded_architectures();

}  // namespace roofcast
