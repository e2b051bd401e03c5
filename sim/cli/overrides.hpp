#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/base/document.hpp"

namespace roofcast {

/// One "--set model.hidden_dim=4096": scope, dotted key below it, and value as YAML.
struct Override {
  std::string scope;  // "model", "hardware" or "engine"
  std::string key;
  std::string value;
};

/// Parses the values of --set. Throws UsageError.
std::vector<Override> parse_overrides(const std::vector<std::string>& texts);

/// Sets what `overrides` say of `scope`. Returns those, their keys as `set_value` spells them.
std::vector<Override> apply_overrides(const std::vector<Override>& overrides,
                                      std::string_view scope, Document& document);

}  // namespace roofcast
