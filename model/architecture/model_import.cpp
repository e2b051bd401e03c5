#include "model/architecture/model_import.hpp"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <fstream>

#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/gguf_import.hpp"
#include "model/architecture/hf_config.hpp"
#include "model/architecture/safetensors_import.hpp"
#include "model/architecture/safetensors_model.hpp"
#include "model/base/files.hpp"

namespace roofcast {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kQuantConfig = "hf_quant_config.json";

Document read_json(const std::string& path) { return parse_json(read_text_file(path), path); }

void refine_from_weights(ImportedModel& model, const std::string& path) {
  const SafetensorsModel weights = read_safetensors_model(path);
  set_formats_from_safetensors(model, weights);
  if (!weights.tensors.empty()) return;
  model.warnings.push_back(
      weights.files.empty()
          ? fmt::format("{}: no weight files beside the index, so formats are the config's",
                        weights.index_file)
          : fmt::format("{}: holds no tensors, so formats are the config's",
                        weights.files.front()));
}

ImportedModel import_config_file(const std::string& path) {
  const Document config = read_json(path);
  if (!path.ends_with(kConfig)) return import_hf_config(config);
  const std::string quant =
      path.substr(0, path.size() - kConfig.size()) + std::string(kQuantConfig);
  if (!path_exists(quant)) return import_hf_config(config);
  const Document quantization = read_json(quant);
  return import_hf_config(config, &quantization);
}

ImportedModel import_folder(const fs::path& folder) {
  const fs::path config = folder / kConfig;
  if (path_exists(config)) {
    ImportedModel model = import_config_file(config.string());
    if (looks_like_safetensors(folder.string())) refine_from_weights(model, folder.string());
    return model;
  }
  if (looks_like_gguf(folder.string())) return import_gguf(folder.string());
  throw SpecError(place_message(folder.string(), {}, "",
                                "expected a folder with a config.json or a GGUF file"));
}

ImportedModel import_beside_weights(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  if (!path_exists(folder / kConfig))
    throw SpecError(place_message(
        path, {}, "", "weights alone do not say what they are: expected a config.json beside"));
  ImportedModel model = import_config_file((folder / kConfig).string());
  refine_from_weights(model, path);
  return model;
}

/// What the file begins with: "GGUF", or its first character that is no blank.
std::string first_bytes(const std::string& path) {
  std::ifstream in = open_binary_file(path).stream;
  std::string start(4, '\0');
  in.read(start.data(), 4);
  if (start == "GGUF") return start;
  in.clear();
  in.seekg(0);
  char c = ' ';
  while (in.get(c) && std::isspace(static_cast<unsigned char>(c)) != 0) {
  }
  return std::string(1, c);
}

ImportedModel import_yaml(const std::string& path) {
  ImportedModel model;
  model.spec = read_architecture(parse_yaml(read_text_file(path), path));
  return model;
}

}  // namespace

ImportedModel import_model_path(const std::string& path) {
  const PathKind kind = path_kind(path);
  if (kind == PathKind::missing)
    throw IoError(place_message(path, {}, "", "no such file or folder"));
  if (kind == PathKind::folder) return import_folder(path);
  if (path.ends_with(kQuantConfig))
    throw SpecError(place_message(path, {}, "", "expected the config.json that this belongs to"));
  if (looks_like_gguf(path)) return import_gguf(path);
  if (looks_like_safetensors(path)) return import_beside_weights(path);
  if (path.ends_with(".json")) return import_config_file(path);
  if (path.ends_with(".yaml") || path.ends_with(".yml")) return import_yaml(path);
  const std::string start = first_bytes(path);
  if (start == "GGUF") return import_gguf(path);
  return start == "{" ? import_config_file(path) : import_yaml(path);
}

}  // namespace roofcast
