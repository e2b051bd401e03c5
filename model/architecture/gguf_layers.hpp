#pragma once

#include <cstdint>

#include "model/architecture/architecture_spec.hpp"
#include "model/architecture/gguf_architectures.hpp"
#include "model/architecture/gguf_blocks.hpp"
#include "model/architecture/gguf_fields.hpp"

namespace roofcast {

/// Fills `spec.mixers`, `spec.ffns`, `spec.layers` and how norms stand around them, from the first
/// `n_layers` blocks. `spec.hidden_dim` must be set.
void read_gguf_layers(GgufFields& fields, const GgufTensors& tensors,
                      const GgufArchitecture& architecture, std::int64_t n_layers,
                      ArchitectureSpec& spec);

}  // namespace roofcast
