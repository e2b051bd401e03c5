#pragma once

#include <string>

#include "model/architecture/gguf_model.hpp"
#include "model/architecture/import_report.hpp"
#include "model/architecture/tensor_census.hpp"

namespace roofcast {

/// Makes an architecture from a GGUF model: dimensions from its metadata, each layer's kinds from
/// the tensors of its block, window patterns from what llama.cpp does for the architecture, formats
/// from the exact bytes of the tensors. Multi-token-prediction blocks hold no cache and are counted
/// apart. The KV cache is fp16 and the recurrent state and activations fp32, llama.cpp's defaults.
/// Throws UnsupportedError for an architecture or a block that Roofcast does not represent and
/// SpecError for metadata and tensors that contradict each other.
ImportedModel import_gguf(const GgufModel& model);

/// The same from a file, a part, or a folder; see read_gguf_model.
ImportedModel import_gguf(const std::string& path);

/// Bytes by component; `n_layers` without multi-token-prediction blocks.
TensorCensus gguf_census(const GgufModel& model, int n_layers);

}  // namespace roofcast
