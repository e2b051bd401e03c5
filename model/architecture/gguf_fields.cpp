#include "model/architecture/gguf_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kShownItems = 16;

template <typename T>
std::string list_text(const std::vector<T>& items) {
  if (items.size() <= kShownItems) return fmt::format("[{}]", fmt::join(items, ", "));
  const std::vector<T> shown(items.begin(), items.begin() + kShownItems);
  return fmt::format("[{}, ... {} in all]", fmt::join(shown, ", "), items.size());
}

std::string value_text(const GgufValue& value) {
  struct Text {
    const GgufValue& value;
    std::string operator()(std::monostate) const {
      return fmt::format("{} of {}", value.type, value.count);
    }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t n) const { return fmt::format("{}", n); }
    std::string operator()(double x) const { return fmt::format("{}", x); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const std::vector<std::int64_t>& items) const {
      return list_text(items);
    }
    std::string operator()(const std::vector<double>& items) const { return list_text(items); }
  };
  return std::visit(Text{value}, value.data);
}

/// The first word of a key: vocabularies and authorship are reported in one line each.
std::string_view group_of(std::string_view key) { return key.substr(0, key.find('.')); }

}  // namespace

GgufFields::GgufFields(const GgufModel& model) : model_(model) {
  const std::optional<std::string> name = text("general.architecture");
  if (!name || name->empty()) fail("general.architecture", "expected a name, got none");
  architecture_ = *name;
}

std::string GgufFields::full(std::string_view key) const {
  return fmt::format("{}.{}", architecture_, key);
}

void GgufFields::fail(std::string_view key, std::string_view what) const {
  const GgufValue* value = model_.find(key);
  const std::string file =
      value == nullptr ? this->file() : fmt::format("{}: byte {}", this->file(), value->at);
  throw SpecError(place_message(file, {}, key, what));
}

const GgufValue* GgufFields::find(std::string_view key) {
  std::string name = full(key);
  const GgufValue* value = model_.find(name);
  if (value != nullptr && used_.insert(name).second)
    note(name, value_text(*value), FieldStatus::read);
  return value;
}

std::int64_t GgufFields::checked(std::string_view key, std::int64_t value, std::int64_t min) const {
  if (value < min || value > kMaxGgufDimension)
    fail(full(key), fmt::format("expected a whole number from {} to {}, got {}", min,
                                kMaxGgufDimension, value));
  return value;
}

std::optional<std::int64_t> GgufFields::whole(std::string_view key, std::int64_t min) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* number = std::get_if<std::int64_t>(&value->data);
  if (number == nullptr)
    fail(full(key), fmt::format("expected a whole number, got {}", in_quotes(value_text(*value))));
  return checked(key, *number, min);
}

std::int64_t GgufFields::required(std::string_view key, std::int64_t min) {
  const std::optional<std::int64_t> number = whole(key, min);
  if (!number) fail(full(key), "expected a whole number, got no such key");
  return *number;
}

std::int64_t GgufFields::whole_or(std::string_view key, std::int64_t fallback,
                                  std::string_view why) {
  if (const std::optional<std::int64_t> number = whole(key)) return *number;
  if (used_.insert(full(key)).second)
    note(full(key), fmt::format("{} ({})", fallback, why), FieldStatus::defaulted);
  return fallback;
}

std::optional<std::vector<std::int64_t>> GgufFields::per_layer(std::string_view key,
                                                               std::size_t n_layers) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* number = std::get_if<std::int64_t>(&value->data))
    return std::vector<std::int64_t>(n_layers, checked(key, *number, 0));
  const auto* items = std::get_if<std::vector<std::int64_t>>(&value->data);
  if (items == nullptr || items->size() < n_layers)
    fail(full(key), fmt::format("expected one whole number or {}, got {}", n_layers,
                                in_quotes(value_text(*value))));
  for (const std::int64_t item : *items) checked(key, item, 0);
  return std::vector<std::int64_t>(items->begin(),
                                   items->begin() + static_cast<std::ptrdiff_t>(n_layers));
}

bool GgufFields::is_list(std::string_view key) const {
  const GgufValue* value = model_.find(full(key));
  return value != nullptr && std::holds_alternative<std::vector<std::int64_t>>(value->data);
}

std::optional<bool> GgufFields::flag(std::string_view key) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* yes = std::get_if<bool>(&value->data);
  if (yes == nullptr)
    fail(full(key), fmt::format("expected true or false, got {}", in_quotes(value_text(*value))));
  return *yes;
}

std::optional<std::string> GgufFields::text(std::string_view full_key) {
  const GgufValue* value = model_.find(full_key);
  if (value == nullptr) return std::nullopt;
  const auto* words = std::get_if<std::string>(&value->data);
  if (words == nullptr)
    fail(full_key, fmt::format("expected a text, got {}", in_quotes(value_text(*value))));
  if (used_.emplace(full_key).second) note(full_key, *words, FieldStatus::read);
  return *words;
}

void GgufFields::note(std::string_view key, std::string value, FieldStatus status) {
  fields_.push_back({std::string(key), std::move(value), status});
}

void GgufFields::ignore(std::string_view key, std::string_view why) {
  const GgufValue* value = model_.find(full(key));
  if (value == nullptr) return;
  if (used_.insert(full(key)).second)
    note(full(key), fmt::format("{}: {}", value_text(*value), why), FieldStatus::ignored);
}

std::vector<ImportField> GgufFields::report() const {
  std::vector<ImportField> all = fields_;
  std::map<std::string, int, std::less<>> groups;
  for (const auto& [key, value] : model_.metadata) {
    if (used_.contains(key)) continue;
    if (group_of(key) == architecture_)
      all.push_back({key, value_text(value), FieldStatus::ignored});
    else
      ++groups[std::string(group_of(key))];
  }
  for (const auto& [group, count] : groups)
    all.push_back({group + ".*", fmt::format("{} keys", count), FieldStatus::ignored});
  return all;
}

}  // namespace roofcast
