#pragma once

#include <span>

#include "model/base/embedded_file.hpp"

namespace roofcast {

/// The machines shipped with the program: every hardware/*.yaml, generations.yaml included, and
/// every hardware/calibrated/*.yaml (named "calibrated/..."), sorted by name.
std::span<const EmbeddedFile> embedded_hardware();

}  // namespace roofcast
