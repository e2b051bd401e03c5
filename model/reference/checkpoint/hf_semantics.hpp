#pragma once

#include <string>

#include "model/base/document.hpp"
#include "model/reference/model_semantics.hpp"

namespace roofcast {

/// "model_type" of a Hugging Face config. Throws SpecError without one.
std::string model_type_of(const Document& config);

/// What a Hugging Face config says of its model's values. What it leaves out takes the default of
/// its model class in `transformers`. Throws SpecError for wrong values, and UnsupportedError,
/// naming the key, for what the engine does not compute.
ModelSemantics read_semantics(const Document& config);

}  // namespace roofcast
