#include "sim/report/format_value.hpp"

#include <fmt/format.h>

#include <cmath>

#include "model/base/prefix.hpp"
#include "model/base/text.hpp"
#include "model/base/utf8.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kLongestHumanText = 500;

/// 128256 -> "128,256"; expected numbers that are not whole keep four digits.
std::string format_count(double value) {
  if (value != std::floor(value) || std::abs(value) >= 9e15) return fmt::format("{:.4g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

/// Rates of tokens carry no prefix: 19.6, 204.1, 12345.
std::string format_token_rate(double value) {
  return value >= 9999.5 ? format_count(std::round(value)) : fmt::format("{:.4g}", value);
}

std::string human_number(ValueKind kind, double value) {
  if (!std::isfinite(value)) return "-";
  switch (kind) {
    case ValueKind::text:
    case ValueKind::count:
      return format_count(value);
    case ValueKind::duration:
      // Fits leave traces of a time where there is none; no clock sees a picosecond.
      return format_si(std::abs(value) < 1e-12 ? 0.0 : value, "s");
    case ValueKind::bytes:
      return format_si(value, "B");
    case ValueKind::byte_rate:
      return format_si(value, "B/s");
    case ValueKind::flops:
      return format_si(value, "FLOP");
    case ValueKind::flop_rate:
      return format_si(value, "FLOP/s");
    case ValueKind::token_rate:
      return format_token_rate(value) + " tok/s";
    case ValueKind::intensity:
      return fmt::format("{:.3g} FLOP/B", value);
    case ValueKind::ratio:
      return fmt::format("{:.1f} %", value * 100.0);
    case ValueKind::signed_ratio:
      return fmt::format("{:+.1f} %", value * 100.0);
  }
  return {};
}

}  // namespace

std::string human_text(std::string_view text) {
  return shortened(printable(text), kLongestHumanText);
}

std::string human_value(ValueKind kind, const Cell& value) {
  if (const auto* number = std::get_if<double>(&value)) return human_number(kind, *number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "yes" : "no";
  if (const auto* text = std::get_if<std::string>(&value)) return human_text(*text);
  return {};
}

std::string plain_value(const Cell& value) {
  if (const auto* number = std::get_if<double>(&value))
    return std::isfinite(*number) ? fmt::format("{}", *number) : std::string();
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

std::string csv_field(std::string_view text) {
  const std::string valid = valid_utf8(text);
  if (valid.find_first_of(",\"\r\n") == std::string::npos) return valid;
  std::string quoted = "\"";
  for (const char c : valid) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return width;
}

}  // namespace roofcast
