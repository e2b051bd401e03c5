#pragma once

#include "model/architecture/import_report.hpp"
#include "model/architecture/safetensors_model.hpp"
#include "model/architecture/tensor_census.hpp"

namespace roofcast {

/// Bytes by component of the tensors in `weights`; `n_layers` without multi-token-prediction
/// blocks.
TensorCensus safetensors_census(const SafetensorsModel& weights, int n_layers);

/// Refines the formats of an architecture made from a config by the weights beside it: exact bytes
/// per component where the weight files are there. Of an index alone only the total is known; it is
/// compared with the spec's and a difference above 2 % becomes a warning. A config's format stays
/// where the file's dtype agrees with it (F8_E4M3 with a block-scaled format) or cannot tell
/// (packed words). Adds what it read to `model.fields`.
void set_formats_from_safetensors(ImportedModel& model, const SafetensorsModel& weights);

}  // namespace roofcast
