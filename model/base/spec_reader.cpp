#include "model/base/spec_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/base/prefix.hpp"

namespace roofcast {
namespace {

/// A whole number in decimal ("8", "8.0" and "671e9" count; "010" and "0x8" do not).
std::optional<std::int64_t> parse_integer(std::string_view text) {
  const bool signed_text = text.starts_with('-');
  const std::string_view digits = text.substr(signed_text ? 1 : 0);
  if (digits.size() > 1 && digits[0] == '0' && digits[1] != '.') return std::nullopt;
  std::int64_t exact = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exact);
  if (error == std::errc{} && end == text.data() + text.size()) return exact;
  const auto number = parse_number(text);
  if (!number || *number != std::floor(*number) || std::abs(*number) > 9e15) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

}  // namespace

std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return "nothing";
    case Value::Kind::sequence:
      return "a list";
    case Value::Kind::map:
      return "a map";
    case Value::Kind::not_finite:
      return value.scalar;
    case Value::Kind::scalar:
      break;
  }
  return in_quotes(value.scalar);
}

SpecReader::SpecReader(const Value& node, std::string file, std::string path)
    : node_(&node), file_(std::move(file)), path_(std::move(path)) {
  if (!node.is_map())
    throw SpecError(about(node, path_, fmt::format("expected a map, got {}", describe(node))));
}

std::string SpecReader::about(const Value& value, std::string_view key,
                              std::string_view what) const {
  if (value.origin == nullptr) return place_message(file_, value.at, key, what);
  // Inside a list or map that was set, the key says which part; of a scalar the option says it all.
  return place_message(*value.origin, value.at, value.at.line > 0 ? key : "", what);
}

std::string SpecReader::dotted(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void SpecReader::fail(std::string_view key, std::string_view what) const {
  const Value* found = find(key);
  throw SpecError(about(found != nullptr ? *found : *node_, dotted(key), what));
}

const Value* SpecReader::find(std::string_view key) const {
  constexpr std::size_t kFew = 32;
  if (node_->members.size() <= kFew) return node_->find(key);
  if (index_.empty())
    for (const auto& [name, value] : node_->members) index_.emplace(name, &value);
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : found->second;
}

bool SpecReader::has(std::string_view key) const {
  const Value* found = find(key);
  return found != nullptr && !found->is_null();
}

std::vector<std::string> SpecReader::keys() const {
  std::vector<std::string> names;
  for (const auto& member : node_->members) names.push_back(member.first);
  return names;
}

void SpecReader::accept(std::string_view key) {
  if (known_.emplace(key).second) known_in_order_.emplace_back(key);
}

const Value& SpecReader::value(std::string_view key) {
  accept(key);
  const Value* found = find(key);
  if (found == nullptr) {
    // A misspelt key is the likeliest reason why a required one is missing: point at it.
    constexpr std::size_t kMostCompared = 1000;
    std::size_t compared = 0;
    for (const auto& [name, value] : node_->members) {
      if (known_.contains(name)) continue;
      if (++compared > kMostCompared) break;
      if (nearest_name(name, {std::string(key)}).empty()) continue;
      throw SpecError(
          about(value, dotted(name), fmt::format("unknown key, did you mean \"{}\"?", key)));
    }
    fail(key, "missing, expected this key");
  }
  return *found;
}

const Value& SpecReader::scalar(std::string_view key, std::string_view expected) {
  const Value& found = value(key);
  if (!found.is_scalar()) fail(key, fmt::format("expected {}, got {}", expected, describe(found)));
  return found;
}

std::string SpecReader::string(std::string_view key) {
  const Value& found = scalar(key, "a text");
  if (found.scalar.empty()) fail(key, "expected a text, got \"\"");
  return found.scalar;
}

std::int64_t SpecReader::integer(std::string_view key, std::int64_t min, std::int64_t max) {
  const std::string expected = fmt::format("a whole number from {} to {}", min, max);
  const Value& found = scalar(key, expected);
  const auto number = found.quoted_text ? std::nullopt : parse_integer(found.scalar);
  if (!number || *number < min || *number > max)
    fail(key, fmt::format("expected {}, got {}", expected, in_quotes(found.scalar)));
  return *number;
}

double SpecReader::number(std::string_view key, double min, double max) {
  const std::string expected = fmt::format("a number from {} to {}", min, max);
  const Value& found = scalar(key, expected);
  const auto number = found.quoted_text ? std::nullopt : parse_number(found.scalar);
  if (!number || *number < min || *number > max)
    fail(key, fmt::format("expected {}, got {}", expected, in_quotes(found.scalar)));
  return *number;
}

bool SpecReader::boolean(std::string_view key) {
  const Value& found = scalar(key, "true or false");
  if (!found.quoted_text && found.scalar == "true") return true;
  if (!found.quoted_text && found.scalar == "false") return false;
  fail(key, fmt::format("expected true or false, got {}", in_quotes(found.scalar)));
}

FormatId SpecReader::format(std::string_view key) {
  const Value& found = scalar(key, "a number format");
  const auto format = find_format(found.scalar);
  if (!format)
    fail(key, fmt::format("expected a number format, got {}{}", in_quotes(found.scalar),
                          did_you_mean(found.scalar, format_names())));
  return *format;
}

double SpecReader::quantity(std::string_view key, std::initializer_list<std::string_view> units,
                            QuantityRange range) {
  const std::string expected =
      fmt::format("a quantity in {} such as \"1.5 G{}\"", fmt::join(units, " or "), *units.begin());
  const Value& found = scalar(key, expected);
  for (const std::string_view unit : units) {
    const auto amount = parse_quantity(found.scalar, unit);
    if (!amount) continue;
    if (*amount < range.min || *amount > range.max)
      fail(key, fmt::format("expected a quantity from {} to {}, got {}", format_si(range.min, unit),
                            format_si(range.max, unit), in_quotes(found.scalar)));
    return *amount;
  }
  fail(key, fmt::format("expected {}, got {}", expected, in_quotes(found.scalar)));
}

std::size_t SpecReader::choice(std::string_view key, const std::vector<std::string>& names) {
  const std::string expected = "one of " + list_of(names);
  const Value& found = scalar(key, expected);
  const auto match = std::find(names.begin(), names.end(), found.scalar);
  if (match == names.end())
    fail(key, fmt::format("expected {}, got {}{}", expected, in_quotes(found.scalar),
                          did_you_mean(found.scalar, names)));
  return static_cast<std::size_t>(match - names.begin());
}

std::optional<std::string> SpecReader::optional_string(std::string_view key) {
  accept(key);
  return has(key) ? std::optional(string(key)) : std::nullopt;
}

std::optional<std::int64_t> SpecReader::optional_integer(std::string_view key, std::int64_t min,
                                                         std::int64_t max) {
  accept(key);
  return has(key) ? std::optional(integer(key, min, max)) : std::nullopt;
}

std::optional<double> SpecReader::optional_number(std::string_view key, double min, double max) {
  accept(key);
  return has(key) ? std::optional(number(key, min, max)) : std::nullopt;
}

std::optional<double> SpecReader::optional_quantity(std::string_view key,
                                                    std::initializer_list<std::string_view> units,
                                                    QuantityRange range) {
  accept(key);
  return has(key) ? std::optional(quantity(key, units, range)) : std::nullopt;
}

std::int64_t SpecReader::integer_or(std::string_view key, std::int64_t fallback, std::int64_t min,
                                    std::int64_t max) {
  return optional_integer(key, min, max).value_or(fallback);
}

bool SpecReader::boolean_or(std::string_view key, bool fallback) {
  accept(key);
  return has(key) ? boolean(key) : fallback;
}

std::optional<FormatId> SpecReader::optional_format(std::string_view key) {
  accept(key);
  return has(key) ? std::optional(format(key)) : std::nullopt;
}

SpecReader SpecReader::child(std::string_view key) {
  return SpecReader(value(key), file_, dotted(key));
}

std::optional<SpecReader> SpecReader::optional_child(std::string_view key) {
  accept(key);
  return has(key) ? std::optional(child(key)) : std::nullopt;
}

std::vector<SpecReader> SpecReader::children(std::string_view key) {
  const Value& found = value(key);
  if (!found.is_sequence()) fail(key, fmt::format("expected a list, got {}", describe(found)));
  std::vector<SpecReader> readers;
  for (std::size_t i = 0; i < found.items.size(); ++i)
    readers.emplace_back(found.items[i], file_, fmt::format("{}.{}", dotted(key), i));
  return readers;
}

void SpecReader::reject_unknown_keys() const {
  for (const auto& [name, value] : node_->members) {
    if (known_.contains(name)) continue;
    throw SpecError(about(value, dotted(name),
                          fmt::format("unknown key{}", did_you_mean(name, known_in_order_))));
  }
}

}  // namespace roofcast
