#include "model/architecture/hf_reader.hpp"

#include <fmt/format.h>

#include "model/base/text.hpp"

namespace roofcast::detail {

void HfReport::add(const std::string& key, std::string value, FieldStatus status) {
  if (!seen_.insert(key).second) return;
  fields_.push_back({key, std::move(value), status});
}

bool HfReport::has_below(const std::string& key) const {
  const std::string prefix = key + ".";
  const auto next = seen_.lower_bound(prefix);
  return next != seen_.end() && next->starts_with(prefix);
}

std::vector<std::string> HfReport::known_below(const std::string& path) const {
  const std::string prefix = path.empty() ? path : path + ".";
  std::set<std::string> names;
  for (const std::set<std::string>* keys : {&seen_, &asked_})
    for (auto key = keys->lower_bound(prefix); key != keys->end() && key->starts_with(prefix);
         ++key)
      if (key->find('.', prefix.size()) == std::string::npos)
        names.insert(key->substr(prefix.size()));
  return {names.begin(), names.end()};
}

std::string shown(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return "null";
    case Value::Kind::scalar:
    case Value::Kind::not_finite:
      return shortened(value.scalar, 60);
    case Value::Kind::sequence:
      return fmt::format("list of {}", value.items.size());
    case Value::Kind::map:
      return fmt::format("map of {}", value.members.size());
  }
  return {};
}

HfReader::HfReader(const Value& map, std::string file, std::string path, HfReport& report)
    : reader_(map, std::move(file), std::move(path)), report_(&report) {}

std::string HfReader::dotted(std::string_view key) const {
  return path().empty() ? std::string(key) : fmt::format("{}.{}", path(), key);
}

bool HfReader::has(std::string_view key) const {
  report_->ask(dotted(key));
  return reader_.has(key);
}

std::string_view HfReader::first_of(std::initializer_list<std::string_view> names) {
  std::string_view chosen;
  for (const std::string_view name : names) {
    if (!reader_.has(name)) continue;  // further names are not looked for: one is enough
    if (chosen.empty()) {
      chosen = name;
      continue;
    }
    const Value* kept = node().find(chosen);
    const Value* other = node().find(name);
    if (kept->kind != other->kind || kept->scalar != other->scalar)
      warn(fmt::format("{} is {} but {} is {}; the first is used", dotted(chosen), shown(*kept),
                       dotted(name), shown(*other)));
    ignored(name, fmt::format("another name of {}", chosen));
  }
  return chosen.empty() ? *names.begin() : chosen;
}

std::int64_t HfReader::integer(std::string_view key, std::int64_t max, std::int64_t min) {
  const std::int64_t number = reader_.integer(key, min, max);
  read(key, std::to_string(number));
  return number;
}

std::optional<std::int64_t> HfReader::optional_integer(std::string_view key, std::int64_t max,
                                                       std::int64_t min) {
  return has(key) ? std::optional(integer(key, max, min)) : std::nullopt;
}

std::int64_t HfReader::integer_or(std::string_view key, std::int64_t fallback, std::int64_t max,
                                  std::int64_t min) {
  if (has(key)) return integer(key, max, min);
  defaulted(key, std::to_string(fallback));
  return fallback;
}

double HfReader::number(std::string_view key, double min, double max) {
  const double value = reader_.number(key, min, max);
  read(key, fmt::format("{}", value));
  return value;
}

bool HfReader::boolean_or(std::string_view key, bool fallback) {
  if (!has(key)) {
    defaulted(key, fallback ? "true" : "false");
    return fallback;
  }
  const bool value = reader_.boolean(key);
  read(key, value ? "true" : "false");
  return value;
}

std::string HfReader::string(std::string_view key) {
  std::string text = reader_.string(key);
  read(key, text);
  return text;
}

std::optional<std::string> HfReader::optional_string(std::string_view key) {
  if (!has(key)) return std::nullopt;
  const Value& found = *node().find(key);
  if (found.is_scalar() && found.scalar.empty()) return std::nullopt;
  return string(key);
}

std::optional<HfReader> HfReader::optional_child(std::string_view key) {
  if (!has(key)) return std::nullopt;
  return HfReader(reader_.value(key), file(), dotted(key), *report_);
}

const Value& HfReader::list(std::string_view key, std::size_t max_items) {
  const Value& found = reader_.value(key);
  if (!found.is_sequence()) fail(key, fmt::format("expected a list, got {}", describe(found)));
  if (found.items.size() > max_items)
    fail(key,
         fmt::format("expected a list of at most {} items, got {}", max_items, found.items.size()));
  read(key, shown(found));
  return found;
}

std::vector<std::int64_t> HfReader::integers(std::string_view key, std::int64_t max,
                                             std::int64_t min, std::size_t max_items) {
  std::vector<std::int64_t> numbers;
  if (!has(key)) return numbers;
  for (const Value& item : list(key, max_items).items) {
    Value one{.kind = Value::Kind::map, .at = item.at};
    one.members.emplace_back("item", item);
    numbers.push_back(SpecReader(one, file(), dotted(key)).integer("item", min, max));
  }
  return numbers;
}

std::vector<std::string> HfReader::strings(std::string_view key, std::size_t max_items) {
  std::vector<std::string> texts;
  if (!has(key)) return texts;
  for (const Value& item : list(key, max_items).items) {
    if (!item.is_scalar())
      throw SpecError(
          place_message(file(), item.at, dotted(key),
                        fmt::format("expected a list of texts, got {}", describe(item))));
    texts.push_back(item.scalar);
  }
  return texts;
}

std::vector<HfReader> HfReader::children(std::string_view key) {
  const Value& found = list(key, 65536);
  std::vector<HfReader> readers;
  for (std::size_t i = 0; i < found.items.size(); ++i)
    readers.emplace_back(found.items[i], file(), fmt::format("{}.{}", dotted(key), i), *report_);
  return readers;
}

void HfReader::derived(std::string_view key, std::string value) const {
  report_->add(dotted(key), std::move(value), FieldStatus::derived);
}
void HfReader::defaulted(std::string_view key, std::string value) const {
  report_->add(dotted(key), std::move(value), FieldStatus::defaulted);
}
void HfReader::ignored(std::string_view key, std::string reason) const {
  report_->add(dotted(key), std::move(reason), FieldStatus::ignored);
}
void HfReader::read(std::string_view key, std::string value) const {
  report_->add(dotted(key), std::move(value), FieldStatus::read);
}

void HfReader::fail(std::string_view key, std::string_view what) const { reader_.fail(key, what); }

void HfReader::refuse(std::string_view key, std::string_view what) const {
  const Value* found = node().find(key);
  refuse_at(found != nullptr ? *found : node(), key, what);
}

void HfReader::refuse_at(const Value& value, std::string_view key, std::string_view what) const {
  throw UnsupportedError(place_message(file(), value.at, dotted(key), what));
}

}  // namespace roofcast::detail
