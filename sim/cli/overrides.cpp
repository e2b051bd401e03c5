#include "sim/cli/overrides.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/base/error.hpp"
#include "sim/cli/command_line.hpp"

namespace roofcast {

std::vector<Override> parse_overrides(const std::vector<std::string>& texts) {
  const std::vector<std::string> scopes = {"model", "hardware", "engine"};
  std::vector<Override> overrides;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::size_t dot = text.find('.');
    if (equals == std::string::npos || dot == std::string::npos || dot + 1 >= equals)
      throw UsageError(
          fmt::format("--set: expected SCOPE.KEY=VALUE such as model.max_context=8192, got {}",
                      in_quotes(text)));
    Override one{text.substr(0, dot), text.substr(dot + 1, equals - dot - 1),
                 text.substr(equals + 1)};
    if (std::find(scopes.begin(), scopes.end(), one.scope) == scopes.end())
      throw UsageError(
          fmt::format("--set: expected a key that begins with model, hardware or engine, got {}{}",
                      in_quotes(one.scope), did_you_mean(one.scope, scopes)));
    overrides.push_back(std::move(one));
  }
  return overrides;
}

std::vector<Override> apply_overrides(const std::vector<Override>& overrides,
                                      std::string_view scope, Document& document) {
  std::vector<Override> applied;
  for (const Override& one : overrides)
    if (one.scope == scope)
      applied.push_back({one.scope, set_value(document, one.key, one.value, one.scope), one.value});
  return applied;
}

}  // namespace roofcast
