// Feeds text to the importer of Hugging Face configs, as the config alone and as both of its files.
// What it accepts must give finite sizes and be read back from the YAML that it is written as.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/hf_config.hpp"
#include "model/base/error.hpp"

namespace {

void import(const roofcast::Document& config, const roofcast::Document* quantization) {
  try {
    const roofcast::ImportedModel model = roofcast::import_hf_config(config, quantization);
    const roofcast::ParameterCount count = roofcast::count_parameters(model.spec);
    const double cache = roofcast::cache_bytes(model.spec, 4096.0).kv.value;
    if (!std::isfinite(count.total + count.active + cache)) std::abort();
    roofcast::read_architecture(
        roofcast::parse_yaml(roofcast::write_architecture_yaml(model.spec), "written.yaml"));
  } catch (const roofcast::UnsupportedError&) {
  } catch (const roofcast::SpecError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const roofcast::Document config = roofcast::parse_json(text, "config.json");
    import(config, nullptr);
    import(config, &config);
  } catch (const roofcast::SpecError&) {
  }
  return 0;
}
