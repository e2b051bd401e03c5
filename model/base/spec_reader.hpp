#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/base/document.hpp"
#include "model/base/number_format.hpp"
#include "model/base/quantity.hpp"

namespace roofcast {

/// No count in any spec comes near this; larger ones are typing errors or attacks.
inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;

/// What a quantity may be, in its base unit, both ends included. Every reader states one: a value
/// far outside what exists is a slip of the prefix, and extreme ones overflow the arithmetic.
struct QuantityRange {
  double min;
  double max;
};

/// Strict cursor over one map of a document. Every read names the key, checks type and range, and
/// is remembered; `reject_unknown_keys` then refuses what nobody asked for, so that a misspelt key
/// never becomes a silent default. All errors are SpecError with file, line, column, dotted key.
class SpecReader {
 public:
  /// `node` must outlive the reader. `path` is the dotted path of `node`, empty for the root.
  SpecReader(const Value& node, std::string file, std::string path = {});

  const std::string& file() const { return file_; }
  const std::string& path() const { return path_; }
  const Value& node() const { return *node_; }

  bool has(std::string_view key) const;  // present and not null
  std::vector<std::string> keys() const;

  const Value& value(std::string_view key);
  std::string string(std::string_view key);
  std::int64_t integer(std::string_view key, std::int64_t min = 1, std::int64_t max = kMaxCount);
  double number(std::string_view key, double min, double max);
  bool boolean(std::string_view key);
  FormatId format(std::string_view key);
  /// A quantity such as "3.35 TB/s" whose unit is one of `units`.
  double quantity(std::string_view key, std::initializer_list<std::string_view> units,
                  QuantityRange range);
  /// One of `names`, by position in the list.
  std::size_t choice(std::string_view key, const std::vector<std::string>& names);

  std::optional<std::string> optional_string(std::string_view key);
  std::optional<std::int64_t> optional_integer(std::string_view key, std::int64_t min = 1,
                                               std::int64_t max = kMaxCount);
  std::optional<double> optional_number(std::string_view key, double min, double max);
  std::optional<double> optional_quantity(std::string_view key,
                                          std::initializer_list<std::string_view> units,
                                          QuantityRange range);
  std::int64_t integer_or(std::string_view key, std::int64_t fallback, std::int64_t min = 0,
                          std::int64_t max = kMaxCount);
  bool boolean_or(std::string_view key, bool fallback);
  std::optional<FormatId> optional_format(std::string_view key);

  /// Reader of a map below this one.
  SpecReader child(std::string_view key);
  std::optional<SpecReader> optional_child(std::string_view key);
  /// Readers of the maps in a sequence.
  std::vector<SpecReader> children(std::string_view key);

  /// Marks `key` as known without reading it.
  void accept(std::string_view key);
  /// Throws for the first key that no call asked for, with the nearest known name.
  void reject_unknown_keys() const;

  /// Throws SpecError at the value of `key` (or at this map when it is absent).
  [[noreturn]] void fail(std::string_view key, std::string_view what) const;

 private:
  /// A message about `value`: its place in the file, or the option that put it there.
  std::string about(const Value& value, std::string_view key, std::string_view what) const;
  const Value& scalar(std::string_view key, std::string_view expected);
  std::string dotted(std::string_view key) const;
  /// Value::find, without a walk through the members of a large map for each key.
  const Value* find(std::string_view key) const;

  const Value* node_;
  std::string file_;
  std::string path_;
  std::set<std::string, std::less<>> known_;
  std::vector<std::string> known_in_order_;
  mutable std::unordered_map<std::string_view, const Value*> index_;  // of a large map
};

/// "a map", "a list", "\"text\"": how error messages name what was found.
std::string describe(const Value& value);

}  // namespace roofcast
