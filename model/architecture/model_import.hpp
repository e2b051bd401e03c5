#pragma once

#include <string>

#include "model/architecture/import_report.hpp"

namespace roofcast {

/// Makes an architecture from whatever describes a model on disk:
/// - a Hugging Face config ("config.json", "NAME_config.json"), with the hf_quant_config.json of
/// the
///   same name beside it where there is one;
/// - a folder with a config.json: the same, and where it holds the weights too, their exact bytes
///   decide the formats;
/// - weights alone (.safetensors or an index): the config.json beside them is read as above;
/// - a GGUF file, any part of a split one, or a folder with one;
/// - an architecture spec in YAML.
/// Files are told apart by ending, then by content. Throws SpecError, UnsupportedError, IoError.
ImportedModel import_model_path(const std::string& path);

}  // namespace roofcast
