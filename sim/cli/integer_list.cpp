#include "sim/cli/integer_list.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

struct Scale {
  std::string_view suffix;
  std::int64_t factor;
};
constexpr std::array kScales = {Scale{"Ki", 1024}, Scale{"Mi", 1048576}, Scale{"k", 1000},
                                Scale{"K", 1000},  Scale{"M", 1000000},  Scale{"", 1}};
constexpr std::int64_t kLargest = std::int64_t{1} << 62;

/// A range: from `first` to `last`, multiplied by `factor`, or `addend` added if that is not 0.
struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t factor = 2;
  std::int64_t addend = 0;
};

std::optional<Range> parse_range(std::string_view item) {
  const std::size_t dots = item.find("..");
  const std::size_t colon = item.find(':');
  const auto first = parse_scaled_integer(item.substr(0, dots));
  const auto last = parse_scaled_integer(item.substr(dots + 2, colon - dots - 2));
  if (!first || !last) return std::nullopt;
  Range range{.first = *first, .last = *last};
  if (colon == std::string_view::npos) return range;
  const std::string_view step = item.substr(colon + 1);
  const auto amount = parse_scaled_integer(step.substr(step.empty() ? 0 : 1));
  if (!amount) return std::nullopt;
  if (step[0] == 'x' && *amount >= 2)
    range.factor = *amount;
  else if (step[0] == '+' && *amount >= 1)
    range.addend = *amount;
  else
    return std::nullopt;
  return range;
}

std::string append_range(const Range& range, std::vector<std::int64_t>& values) {
  if (range.first > range.last) return "a range has to rise";
  if (range.addend == 0 && range.first < 1) return "a range from 0 needs a step such as \":+1\"";
  std::int64_t value = range.first;
  while (value <= range.last) {
    if (values.size() >= kMaxAxisValues) return fmt::format("more than {} values", kMaxAxisValues);
    values.push_back(value);
    if (range.addend > 0) {
      if (value > range.last - range.addend) break;
      value += range.addend;
    } else {
      if (value > range.last / range.factor) break;
      value *= range.factor;
    }
  }
  return {};
}

}  // namespace

std::optional<std::int64_t> parse_scaled_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Scale& scale : kScales) {
    if (scale.suffix != suffix) continue;
    if (number > kLargest / scale.factor || number < -kLargest / scale.factor) return std::nullopt;
    return number * scale.factor;
  }
  return std::nullopt;
}

std::vector<std::int64_t> parse_integer_list(std::string_view text, std::int64_t min,
                                             std::int64_t max, std::string& problem) {
  std::vector<std::int64_t> values;
  const std::string expected = fmt::format("whole numbers from {} to {}", min, max);
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, comma - at);
    at = comma + 1;
    const bool is_range = item.find("..") != std::string_view::npos;
    const auto range = is_range ? parse_range(item) : std::nullopt;
    const auto number = is_range ? std::nullopt : parse_scaled_integer(item);
    std::string why;
    if (range)
      why = append_range(*range, values);
    else if (number)
      values.push_back(*number);
    else
      why = is_range ? "a range is FIRST..LAST, with :xFACTOR or :+STEP behind it" : "";
    const bool outside = !values.empty() && (values.back() > max || (range && range->first < min) ||
                                             (number && *number < min));
    if ((range || number) && why.empty() && !outside) continue;
    problem = fmt::format("expected {}, got {}{}{}", expected, in_quotes(item),
                          why.empty() ? "" : ": ", why);
    return {};
  }
  return values;
}

}  // namespace roofcast
