#include "hardware/src/yaml_text.hpp"

#include <fmt/format.h>

#include "model/base/prefix.hpp"

namespace roofcast {

std::string exact_quantity(double value, std::string_view unit) {
  Prefix best{"", value < 1.0 ? 0.0 : 1.0};
  for (const Prefix& prefix : kPrefixes)
    if (!prefix.symbol.ends_with('i') && prefix.factor <= value && prefix.factor > best.factor)
      best = prefix;
  if (best.factor > 0.0) {
    std::string text = fmt::format("{} {}{}", value / best.factor, best.symbol, unit);
    if (parse_quantity(text, unit) == value) return text;
  }
  return fmt::format("{} {}", value, unit);
}

std::string yaml_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      result += c;
  }
  return result + '"';
}

}  // namespace roofcast
