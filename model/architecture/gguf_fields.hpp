#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/gguf_model.hpp"
#include "model/architecture/import_report.hpp"

namespace roofcast {

/// Larger than any dimension or count of a real model, small enough that products of two fit 64
/// bits; the limit of architecture specs, too.
inline constexpr std::int64_t kMaxGgufDimension = std::int64_t{1} << 28;

/// Typed reading of a GGUF model's metadata. Keys are given without the architecture in front
/// ("attention.head_count"). Every read is remembered for the import report; what nobody asked for
/// is reported as ignored. Wrong types and values out of range throw SpecError.
class GgufFields {
 public:
  explicit GgufFields(const GgufModel& model);

  const std::string& architecture() const { return architecture_; }
  const std::string& file() const { return model_.files.front(); }

  std::optional<std::int64_t> whole(std::string_view key, std::int64_t min = 0);
  std::int64_t required(std::string_view key, std::int64_t min = 1);
  std::int64_t whole_or(std::string_view key, std::int64_t fallback, std::string_view why);
  /// One number per layer; a single number in the file holds for all layers.
  std::optional<std::vector<std::int64_t>> per_layer(std::string_view key, std::size_t n_layers);
  /// Whether the file gives a list for `key`, not one number.
  bool is_list(std::string_view key) const;
  bool has(std::string_view key) const { return model_.find(full(key)) != nullptr; }
  std::optional<bool> flag(std::string_view key);
  /// A text under its full key ("general.name").
  std::optional<std::string> text(std::string_view full_key);

  void note(std::string_view key, std::string value, FieldStatus status);
  void ignore(std::string_view key, std::string_view why);
  void warn(std::string text) { warnings_.push_back(std::move(text)); }
  [[noreturn]] void fail(std::string_view key, std::string_view what) const;

  /// The account of all keys; those that were never asked for come last, as ignored.
  std::vector<ImportField> report() const;
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::string full(std::string_view key) const;
  const GgufValue* find(std::string_view key);
  std::int64_t checked(std::string_view key, std::int64_t value, std::int64_t min) const;

  const GgufModel& model_;
  std::string architecture_;
  std::set<std::string, std::less<>> used_;
  std::vector<ImportField> fields_;
  std::vector<std::string> warnings_;
};

}  // namespace roofcast
