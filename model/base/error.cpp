#include "model/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "model/base/text.hpp"

namespace roofcast {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// Levenshtein distance in O(a * b) time; inputs are names, so short.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

constexpr std::size_t kLongestComparedName = 128;
constexpr std::size_t kMostCompletions = 5;
constexpr std::size_t kShortestFamily = 3;

/// The candidates that begin with `name`.
std::vector<std::string> completions(std::string_view name,
                                     const std::vector<std::string>& candidates) {
  const std::string wanted = lower(name);
  std::vector<std::string> out;
  for (const std::string& candidate : candidates)
    if (lower(candidate).starts_with(wanted)) out.push_back(candidate);
  return out;
}

/// The candidates that share the part of `name` before its first "-" ("a100" of "a100-80gb"), which
/// is `family`; none when they are too many to be a help.
std::vector<std::string> relatives(std::string_view family, std::string_view name,
                                   const std::vector<std::string>& candidates) {
  if (family.size() == name.size() || family.size() < kShortestFamily ||
      name.size() > kLongestComparedName)
    return {};
  std::vector<std::string> out = completions(family, candidates);
  if (out.size() > kMostCompletions) out.clear();
  return out;
}

/// `"a", "b" or "c"`.
std::string alternatives(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 < names.size() ? ", " : " or ", names[i]);
  return text;
}

}  // namespace

std::string place_message(std::string_view file, Position at, std::string_view key,
                          std::string_view what) {
  std::string out = printable(file);
  if (at.line > 0) out += fmt::format(":{}:{}", at.line, at.column);
  if (!out.empty()) out += ": ";
  if (!key.empty()) out += printable(key) + ": ";
  return out + printable(what);
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.empty() || name.size() > kLongestComparedName) return {};
  const std::string wanted = lower(name);
  std::string best;
  // Two edits turn any short name into any other, so a short one may be wrong in one letter only.
  const std::size_t limit = name.size() <= 3 ? 1 : std::max<std::size_t>(2, name.size() / 3);
  std::size_t best_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    const std::string other = lower(candidate);
    if (other == wanted) return candidate;
    std::size_t distance = edit_distance(wanted, other);
    // "h100" means one of "h100-sxm", "h100-pcie", ... and not "h200", which is one edit away.
    if (other.starts_with(wanted) && wanted.size() > 3) distance = 0;
    // Other shared beginnings are likelier slips than their edit distance says.
    if (other.starts_with(wanted) || wanted.starts_with(other))
      distance = std::min(distance, limit);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

bool is_slip(std::string_view name, std::string_view meant) {
  if (name.empty() || name.size() > kLongestComparedName || meant.size() > kLongestComparedName)
    return false;
  return edit_distance(lower(name), lower(meant)) <= (name.size() < 8 ? 1U : 2U);
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  std::vector<std::string> meant;
  const std::string nearest = nearest_name(name, candidates);
  if (nearest.size() > name.size()) meant = completions(name, candidates);
  // A candidate that is a mere beginning of the family ("a10" of "a100-80gb") is a poor guess.
  const std::string family = lower(name.substr(0, name.find('-')));
  if (nearest.size() < family.size() && family.starts_with(lower(nearest)))
    meant = relatives(family, name, candidates);
  if (meant.empty() || meant.size() > kMostCompletions)
    meant = nearest.empty() ? std::vector<std::string>{} : std::vector{nearest};
  return meant.empty() ? std::string{} : fmt::format(", did you mean {}?", alternatives(meant));
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 12;
  constexpr std::size_t kLongest = 60;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i)
    out += (i == 0 ? "" : ", ") + names[i].substr(0, kLongest);
  return names.size() > kShown ? fmt::format("{}, ... ({} in all)", out, names.size()) : out;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return fmt::format("\"{}\"", printable(shortened(text, kShown)));
}

}  // namespace roofcast
