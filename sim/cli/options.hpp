#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// One option of a command: "--name VALUE", or a flag when `value` is empty.
struct OptionRow {
  std::string name;
  std::string value;
  std::string help;
  std::string fallback = {};  // value when the option is absent
  bool repeatable = false;
};

/// The options of one call, as texts; the accessors check them. All errors are UsageError and name
/// option, expectation and what was found.
class Options {
 public:
  bool has(const std::string& name) const;  // given, or with a fallback
  const std::string& text(const std::string& name) const;
  std::string text_or(const std::string& name, std::string_view fallback) const;
  const std::vector<std::string>& all(const std::string& name) const;
  /// A whole number; "k", "M", "Ki", "Mi" behind it multiply.
  std::int64_t integer(const std::string& name, std::int64_t min, std::int64_t max) const;
  double number(const std::string& name, double min, double max) const;
  /// A list of whole numbers, see `parse_integer_list`, none twice.
  std::vector<std::int64_t> integers(const std::string& name, std::int64_t min,
                                     std::int64_t max) const;
  /// A list of names, separated by commas, none twice.
  std::vector<std::string> names(const std::string& name) const;
  /// One of `names`, by its position.
  std::size_t choice(const std::string& name, const std::vector<std::string>& names) const;

  std::map<std::string, std::vector<std::string>> values;
};

/// Parses the words after the command. `positional` is the name under which a word without "--" is
/// stored; empty: there may be none. "help" is set when --help is among them.
Options parse_options(const std::vector<std::string>& args, const std::vector<OptionRow>& rows,
                      const std::string& positional);

/// The options as the lines of a help text.
std::string options_help(const std::vector<OptionRow>& rows);

}  // namespace roofcast
