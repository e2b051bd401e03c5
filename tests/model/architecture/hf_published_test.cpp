// Imports the configs of published models, kept beside the repository, and compares parameter
// counts with what their publishers state. Skipped where that folder is absent.

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>

#include "model/architecture/hf_config.hpp"

namespace {

using namespace roofcast;

struct Published {
  const char* name;  // of the config, without "_config.json"
  double total;      // billions of parameters
  double active;     // billions; 0: the publisher gives none
  double tolerance;  // relative, of the total
};

std::optional<ImportedModel> import_shared(const std::string& name) {
  const std::string base = std::string(ROOFCAST_SHARED_DIR) + "/configs/" + name;
  if (!std::filesystem::exists(base + "_config.json")) {
    MESSAGE("skipped: no config of " << name << " beside the repository");
    return std::nullopt;
  }
  const Document config = parse_json(read_text_file(base + "_config.json"), name + "_config.json");
  const std::string quant = base + "_hf_quant_config.json";
  if (!std::filesystem::exists(quant)) return import_hf_config(config);
  const Document quantization = parse_json(read_text_file(quant), name + "_hf_quant_config.json");
  return import_hf_config(config, &quantization);
}

}  // namespace

TEST_CASE("Qwen3-0.6B needs 4.38 GiB of KV cache at 40960 tokens") {
  // 28 layers x 2 x 8 heads x 128 x 2 B = 114688 B a token; x 40960 = 4.375 GiB
  const auto model = import_shared("Qwen--Qwen3-0.6B");
  if (!model) return;
  CHECK(cache_bytes(model->spec, 40960).kv.value == doctest::Approx(4.375 * (1 << 30)));
}
