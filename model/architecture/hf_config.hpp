#pragma once

#include "model/architecture/import_report.hpp"
#include "model/base/document.hpp"

namespace roofcast {

/// Makes an architecture from a Hugging Face `config.json` and, where there is one, the
/// `hf_quant_config.json` beside it. Each key of both appears once in `fields`. What the config
/// leaves out takes the default of its model class in `transformers`.
///
/// Throws SpecError for wrong or missing values, and UnsupportedError for a `model_type` or a key
/// that changes the shape of the model in a way that ArchitectureSpec does not represent.
ImportedModel import_hf_config(const Document& config, const Document* hf_quant_config = nullptr);

}  // namespace roofcast
