#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/import_report.hpp"
#include "model/base/spec_reader.hpp"

namespace roofcast::detail {

/// Larger than any dimension of a real model; products of three stay finite in 64 bits.
inline constexpr std::int64_t kMaxHfDimension = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxHfVocab = std::int64_t{1} << 26;
inline constexpr std::int64_t kMaxHfLayers = 4096;

/// Account of an import: one entry per key, in the order in which they were first used.
class HfReport {
 public:
  /// The first entry of a key stands; later ones are dropped.
  void add(const std::string& key, std::string value, FieldStatus status);
  void warn(std::string text) { warnings_.push_back(std::move(text)); }
  bool has(const std::string& key) const { return seen_.contains(key); }
  /// Remembers that the import looked for `key`, whether or not the file has it.
  void ask(std::string key) { asked_.insert(std::move(key)); }
  /// Names of the keys directly below `path` that the import reported or looked for.
  std::vector<std::string> known_below(const std::string& path) const;
  /// Whether a key below `key` was reported.
  bool has_below(const std::string& key) const;

  std::vector<ImportField> take_fields() { return std::move(fields_); }
  std::vector<std::string> take_warnings() { return std::move(warnings_); }

 private:
  std::vector<ImportField> fields_;
  std::vector<std::string> warnings_;
  std::set<std::string> seen_;
  std::set<std::string> asked_;
};

/// Typed cursor over one map of a Hugging Face config. Every read is checked and reported; a key
/// with the value null counts as absent, as in Python configs. Errors are SpecError with file,
/// line, column and dotted key.
class HfReader {
 public:
  HfReader(const Value& map, std::string file, std::string path, HfReport& report);

  const std::string& file() const { return reader_.file(); }
  const std::string& path() const { return reader_.path(); }
  const Value& node() const { return reader_.node(); }
  HfReport& report() { return *report_; }
  bool has(std::string_view key) const;
  std::string dotted(std::string_view key) const;

  /// The first of `names` that the map has, or the first of all. Other names present beside it are
  /// reported as ignored, with a warning when they differ.
  std::string_view first_of(std::initializer_list<std::string_view> names);

  std::int64_t integer(std::string_view key, std::int64_t max = kMaxHfDimension,
                       std::int64_t min = 1);
  std::optional<std::int64_t> optional_integer(std::string_view key,
                                               std::int64_t max = kMaxHfDimension,
                                               std::int64_t min = 1);
  std::int64_t integer_or(std::string_view key, std::int64_t fallback,
                          std::int64_t max = kMaxHfDimension, std::int64_t min = 0);
  double number(std::string_view key, double min, double max);
  bool boolean_or(std::string_view key, bool fallback);
  std::string string(std::string_view key);
  /// Empty for an empty text too.
  std::optional<std::string> optional_string(std::string_view key);
  std::optional<HfReader> optional_child(std::string_view key);
  /// Items of a list of at most `max_items`; an absent or null list is empty.
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t max, std::int64_t min = 0,
                                     std::size_t max_items = 65536);
  std::vector<std::string> strings(std::string_view key, std::size_t max_items = 1 << 20);
  /// Readers of the maps of a list; the list is reported as a whole.
  std::vector<HfReader> children(std::string_view key);

  void derived(std::string_view key, std::string value) const;
  void defaulted(std::string_view key, std::string value) const;
  void ignored(std::string_view key, std::string reason) const;
  void read(std::string_view key, std::string value) const;
  void warn(std::string text) const { report_->warn(std::move(text)); }

  [[noreturn]] void fail(std::string_view key, std::string_view what) const;
  /// UnsupportedError at the value of `key`.
  [[noreturn]] void refuse(std::string_view key, std::string_view what) const;
  [[noreturn]] void refuse_at(const Value& value, std::string_view key,
                              std::string_view what) const;

 private:
  const Value& list(std::string_view key, std::size_t max_items);

  SpecReader reader_;
  HfReport* report_;
};

/// A value as the report shows it: scalars as they stand, lists and maps by their size.
std::string shown(const Value& value);

}  // namespace roofcast::detail
