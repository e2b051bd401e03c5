#pragma once

#include <bitset>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast::detail {

/// A regular expression as ignore lists use them: literals, `.`, classes, groups, `|`, `*`, `+`,
/// `?`, `^` at the start and `$` at the end. It matches in time proportional to text times
/// expression whatever the input, unlike std::regex, since lists come from untrusted files.
class NameRegex {
 public:
  /// Empty for syntax outside of the above (look-ahead, back references, counted repeats) and for
  /// expressions of more than a few thousand characters.
  static std::optional<NameRegex> compile(std::string_view expression);
  /// Whether `text` begins with a match, as Python's re.match.
  bool matches_prefix(std::string_view text) const;

  struct Step {
    enum class Kind { one_of, split, jump, end, accept };
    Kind kind = Kind::accept;
    std::bitset<256> chars = {};
    std::size_t to = 0;     // jump, and first way of split
    std::size_t other = 0;  // second way of split
  };

 private:
  std::vector<Step> steps_;
};

/// A set of module names given as names ("lm_head", "model.layers.0.mlp.gate"), shell patterns
/// ("model.layers.*.self_attn*") and regular expressions ("re:.*mlp.gate$"). A name or pattern
/// stands for itself and all below it, wherever it sits in a module's path; the prefixes under
/// which models keep their layers ("model.", "language_model.model.", ...) do not count.
class ModuleSet {
 public:
  /// False when `entry` is a regular expression that is not understood.
  bool add(std::string_view entry);
  bool contains(const std::string& module) const;
  /// Entries that every module has to be matched against one by one, unlike names.
  std::size_t n_patterns() const { return patterns_.size() + regexes_.size(); }
  bool empty() const { return names_.empty() && patterns_.empty() && regexes_.empty(); }

 private:
  std::set<std::string, std::less<>> names_;
  std::vector<std::string> patterns_;
  std::vector<NameRegex> regexes_;
};

/// Whether `pattern` with `*` and `?` matches all of `text`.
bool shell_match(std::string_view pattern, std::string_view text);

}  // namespace roofcast::detail
