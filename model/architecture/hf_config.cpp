#include "model/architecture/hf_config.hpp"

#include <fmt/format.h>

#include "model/architecture/hf_families.hpp"
#include "model/architecture/hf_known_keys.hpp"
#include "model/architecture/hf_quantization.hpp"
#include "model/architecture/hf_unused_keys.hpp"
#include "model/architecture/hf_vision.hpp"
#include "model/base/utf8.hpp"

namespace roofcast::detail {
namespace {

constexpr std::array<std::string_view, 3> kTextKeys = {"text_config", "llm_config",
                                                       "language_config"};

std::string_view text_key(const HfReader& root) {
  for (const std::string_view key : kTextKeys)
    if (root.has(key)) return key;
  return {};
}

[[noreturn]] void refuse_model_type(HfReader& part, const std::string& type) {
  part.refuse("model_type", fmt::format("{} is not a known model kind{}", in_quotes(type),
                                        did_you_mean(type, hf_model_types())));
}

/// Plain configs may carry the wrapper's name for a text model alone ("gemma3" for "gemma3_text").
const HfFamily& family_of(HfReader& part, std::string_view fallback) {
  const std::string type = part.optional_string("model_type").value_or(std::string(fallback));
  if (type.empty()) part.fail("model_type", "missing, expected this key");
  if (const HfFamily* family = find_hf_family(type)) return *family;
  const HfWrapper* wrapper = find_hf_wrapper(type);
  if (wrapper == nullptr) refuse_model_type(part, type);
  return *find_hf_family(wrapper->text_model_type);
}

struct Found {
  HfModel model;
  const HfFamily* family;
};

Found find_text_model(const Document& config, HfReport& report) {
  HfReader root(config.root, config.file, {}, report);
  const std::string_view key = text_key(root);
  if (key.empty()) {
    const HfFamily& family = family_of(root, {});
    return {{root, root}, &family};
  }
  const std::string type = root.string("model_type");
  const HfWrapper* wrapper = find_hf_wrapper(type);
  if (wrapper == nullptr && find_hf_family(type) == nullptr) refuse_model_type(root, type);
  HfReader text = *root.optional_child(key);
  const HfFamily& family = family_of(text, wrapper ? wrapper->text_model_type : type);
  return {{root, text}, &family};
}

/// The file's own name for the model, made usable as a spec name.
std::string model_name(const Document& config, std::string_view model_type) {
  std::string name = config.file.substr(config.file.find_last_of('/') + 1);
  for (const std::string_view ending : {"_config.json", ".json"})
    if (name.size() > ending.size() && name.ends_with(ending))
      name.resize(name.size() - ending.size());
  if (!name.empty() && name != "config") return name;
  const std::string folder = config.file.substr(0, config.file.find_last_of('/'));
  name = folder.substr(folder.find_last_of('/') + 1);
  return name.empty() || folder.size() == config.file.size() ? std::string(model_type) : name;
}

/// The whole import; the public function only names it.
ImportedModel import_config(const Document& config, const Document* hf_quant_config) {
  HfReport report;
  Found found = find_text_model(config, report);
  HfModel& model = found.model;
  refuse_unsupported_keys(model);
  // Names of files are bytes, those of specs are text.
  model.spec.name = valid_utf8(model_name(config, found.family->model_type));
  model.spec.source = valid_utf8(config.file);
  found.family->read(model);
  read_vision(model);
  read_formats(model, hf_quant_config);
  report_unused(config, {}, report);
  if (hf_quant_config != nullptr) report_unused(*hf_quant_config, "hf_quant_config", report);
  return {std::move(model.spec), report.take_fields(), report.take_warnings()};
}

}  // namespace
}  // namespace roofcast::detail

namespace roofcast {

ImportedModel import_hf_config(const Document& config, const Document* hf_quant_config) {
  return detail::import_config(config, hf_quant_config);
}

}  // namespace roofcast
