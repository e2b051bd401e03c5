#include "model/base/prefix.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace roofcast {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Bytes and operations are counted: a thousandth of one is a slip for a million.
bool is_counted(std::string_view unit) {
  return unit.starts_with("B") || unit.starts_with("FLOP") || unit.starts_with("OP");
}

bool takes(std::string_view unit, const Prefix& prefix) {
  return prefix.factor >= 1.0 || !is_counted(unit);
}

/// Four significant digits without trailing zeros: 3.35, 989.4, 20.
std::string four_digits(double value) { return fmt::format("{:.4g}", value); }

struct NumberPrefix {
  double number;
  std::string_view rest;
};

std::optional<NumberPrefix> leading_number(std::string_view text) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  const auto used = static_cast<std::size_t>(end - text.data());
  return NumberPrefix{number, text.substr(used)};
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  const auto parsed = leading_number(text);
  if (!parsed || !parsed->rest.empty()) return std::nullopt;
  return parsed->number;
}

std::optional<double> parse_quantity(std::string_view text, std::string_view unit) {
  const auto parsed = leading_number(trim(text));
  if (!parsed) return std::nullopt;
  std::string_view rest = trim(parsed->rest);
  if (rest == unit) return parsed->number;
  if (unit.empty()) return std::nullopt;
  for (const Prefix& prefix : kPrefixes) {
    if (rest.size() != prefix.symbol.size() + unit.size()) continue;
    if (rest.starts_with(prefix.symbol) && rest.ends_with(unit) && takes(unit, prefix)) {
      const double value = parsed->number * prefix.factor;
      return std::isfinite(value) ? std::optional(value) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::string format_si(double value, std::string_view unit) {
  // Rounding to four digits may carry 999.96 to 1000, which belongs to the next prefix.
  const double rounded = std::abs(value) * (1.0 + 5e-5);
  if (rounded == 0.0) return fmt::format("0 {}", unit);
  Prefix best = rounded < 1.0 && !is_counted(unit) ? Prefix{"n", 1e-9} : Prefix{"", 1.0};
  for (const Prefix& prefix : kPrefixes)
    if (!prefix.symbol.ends_with('i') && prefix.factor <= rounded && prefix.factor > best.factor)
      best = prefix;
  return fmt::format("{} {}{}", four_digits(value / best.factor), best.symbol, unit);
}

std::string format_binary_bytes(double bytes) {
  Prefix best{"", 1.0};
  for (const Prefix& prefix : kPrefixes)
    if (prefix.symbol.ends_with('i') && prefix.factor <= std::abs(bytes) &&
        prefix.factor > best.factor)
      best = prefix;
  return fmt::format("{} {}B", four_digits(bytes / best.factor), best.symbol);
}

}  // namespace roofcast
