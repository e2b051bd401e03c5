#include "sim/cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "model/base/error.hpp"
#include "model/base/prefix.hpp"
#include "sim/cli/command_line.hpp"
#include "sim/cli/integer_list.hpp"

namespace roofcast {
namespace {

namespace po = boost::program_options;

[[noreturn]] void refuse(const std::string& option, std::string_view expected,
                         std::string_view found) {
  throw UsageError(fmt::format("--{}: expected {}, got {}", option, expected, in_quotes(found)));
}

/// The same point twice is a slip, and makes rows that no one can tell apart.
template <typename T>
void refuse_repeated(const std::string& option, std::vector<T> values) {
  std::sort(values.begin(), values.end());
  const auto repeated = std::adjacent_find(values.begin(), values.end());
  if (repeated != values.end()) refuse(option, "no value twice", fmt::format("{}", *repeated));
}

std::string without_dashes(std::string name) {
  name.erase(0, name.find_first_not_of('-'));
  return name.substr(0, name.find('='));
}

[[noreturn]] void refuse_unknown(const std::string& token, const std::vector<OptionRow>& rows) {
  std::vector<std::string> names{"help"};
  for (const OptionRow& row : rows) names.push_back(row.name);
  const std::string name = without_dashes(token);
  const std::string near = nearest_name(name, names);
  throw UsageError(fmt::format("unknown option {}{}", in_quotes("--" + name),
                               near.empty() ? "" : fmt::format(", did you mean --{}?", near)));
}

po::options_description describe(const std::vector<OptionRow>& rows) {
  po::options_description description;
  description.add_options()("help", "");
  for (const OptionRow& row : rows) {
    if (row.value.empty())
      description.add_options()(row.name.c_str(), "");
    else
      description.add_options()(row.name.c_str(),
                                po::value<std::vector<std::string>>()->composing(), "");
  }
  return description;
}

std::vector<po::option> tokenize(const std::vector<std::string>& args,
                                 const std::vector<OptionRow>& rows) {
  const po::options_description description = describe(rows);
  namespace style = po::command_line_style;
  try {
    return po::command_line_parser(args)
        .options(description)
        .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
        .run()
        .options;
  } catch (const po::unknown_option& error) {
    refuse_unknown(error.get_option_name(), rows);
  } catch (const po::error_with_option_name& error) {
    const std::string name = without_dashes(error.get_option_name());
    const bool flag = std::any_of(rows.begin(), rows.end(), [&](const OptionRow& row) {
      return row.name == name && row.value.empty();
    });
    throw UsageError(fmt::format("--{}: {}", name,
                                 flag || name == "help" ? "takes no value" : "expected a value"));
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
}

}  // namespace

Options parse_options(const std::vector<std::string>& args, const std::vector<OptionRow>& rows,
                      const std::string& positional) {
  Options options;
  for (const po::option& token : tokenize(args, rows)) {
    if (token.string_key.empty() || token.position_key >= 0) {
      const std::string word = token.value.empty() ? "" : token.value.front();
      if (positional.empty() || options.has(positional))
        throw UsageError(fmt::format("unexpected argument {}", in_quotes(word)));
      options.values[positional] = {word};
      continue;
    }
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const OptionRow& candidate) {
      return candidate.name == token.string_key;
    });
    std::vector<std::string>& values = options.values[token.string_key];
    if (row != rows.end() && !row->repeatable && !values.empty())
      throw UsageError(fmt::format("--{}: given twice", row->name));
    if (row != rows.end() && !row->value.empty() &&
        (token.value.empty() || token.value.front().empty()))
      throw UsageError(fmt::format("--{}: expected a value", row->name));
    values.push_back(token.value.empty() ? "" : token.value.front());
  }
  for (const OptionRow& row : rows)
    if (!row.fallback.empty() && !options.has(row.name)) options.values[row.name] = {row.fallback};
  return options;
}

std::string options_help(const std::vector<OptionRow>& rows) {
  std::string out;
  for (const OptionRow& row : rows) {
    const std::string head = "--" + row.name + (row.value.empty() ? "" : " " + row.value);
    out += fmt::format("  {:<26} {}", head, row.help);
    if (!row.fallback.empty()) out += fmt::format(" [{}]", row.fallback);
    out += "\n";
  }
  return out + fmt::format("  {:<26} {}\n", "--help", "this text");
}

bool Options::has(const std::string& name) const { return values.contains(name); }

const std::string& Options::text(const std::string& name) const {
  const auto found = values.find(name);
  if (found == values.end()) throw UsageError(fmt::format("--{}: missing, required", name));
  return found->second.front();
}

std::string Options::text_or(const std::string& name, std::string_view fallback) const {
  return has(name) ? text(name) : std::string(fallback);
}

const std::vector<std::string>& Options::all(const std::string& name) const {
  static const std::vector<std::string> kNone;
  const auto found = values.find(name);
  return found == values.end() ? kNone : found->second;
}

std::int64_t Options::integer(const std::string& name, std::int64_t min, std::int64_t max) const {
  const auto number = parse_scaled_integer(text(name));
  if (!number || *number < min || *number > max)
    refuse(name, fmt::format("a whole number from {} to {}", min, max), text(name));
  return *number;
}

double Options::number(const std::string& name, double min, double max) const {
  const auto number = parse_number(text(name));
  if (!number || *number < min || *number > max)
    refuse(name, fmt::format("a number from {} to {}", min, max), text(name));
  return *number;
}

std::vector<std::int64_t> Options::integers(const std::string& name, std::int64_t min,
                                            std::int64_t max) const {
  std::string problem;
  std::vector<std::int64_t> list = parse_integer_list(text(name), min, max, problem);
  if (!problem.empty()) throw UsageError(fmt::format("--{}: {}", name, problem));
  // One range never repeats itself; several items may overlap.
  if (text(name).find(',') != std::string::npos) refuse_repeated(name, list);
  return list;
}

std::vector<std::string> Options::names(const std::string& name) const {
  std::vector<std::string> list;
  const std::string& whole = text(name);
  std::size_t at = 0;
  while (at <= whole.size()) {
    const std::size_t comma = std::min(whole.find(',', at), whole.size());
    list.push_back(whole.substr(at, comma - at));
    if (list.back().empty()) refuse(name, "names separated by commas", whole);
    at = comma + 1;
  }
  refuse_repeated(name, list);
  return list;
}

std::size_t Options::choice(const std::string& name, const std::vector<std::string>& names) const {
  const auto found = std::find(names.begin(), names.end(), text(name));
  if (found == names.end())
    throw UsageError(fmt::format("--{}: expected one of {}, got {}{}", name, list_of(names),
                                 in_quotes(text(name)), did_you_mean(text(name), names)));
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace roofcast
