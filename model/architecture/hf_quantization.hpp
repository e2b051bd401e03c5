#pragma once

#include "model/architecture/hf_decoder.hpp"

namespace roofcast::detail {

/// Sets the formats of all components from the config's dtype, its `quantization_config` and, where
/// given, hf_quant_config.json. What an ignore list leaves in 16 bits stays so; a component of
/// which it leaves a part gets the parameter-weighted mean of its bits, with a warning that says
/// so.
void read_formats(HfModel& model, const Document* hf_quant_config);

}  // namespace roofcast::detail
