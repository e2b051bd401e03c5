#pragma once

#include <optional>
#include <vector>

#include "model/architecture/hf_name_pattern.hpp"
#include "model/architecture/hf_reader.hpp"

namespace roofcast::detail {

/// Which components a rule without names reaches.
enum class QuantReach { linear, experts };

/// Matrices listed by name, and how they are stored.
struct QuantGroup {
  ModuleSet modules;
  Storage storage;
};

/// How a checkpoint is quantised.
struct QuantRules {
  std::optional<Storage> base;  // matrices that no group and no exclusion names
  QuantReach reach = QuantReach::linear;
  bool base_reaches_lm_head = false;
  ModuleSet excluded;  // left in 16 bits
  std::vector<QuantGroup> groups;
  std::optional<Storage> kv;
  std::string method;
};

/// Reads `quantization_config` of config.json. Throws UnsupportedError for an unknown method.
QuantRules read_quantization_config(HfReader config);
/// Reads the `quantization` map of hf_quant_config.json.
QuantRules read_modelopt(HfReader quantization);

}  // namespace roofcast::detail
