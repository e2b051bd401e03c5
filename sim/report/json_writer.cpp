#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/report/report.hpp"

namespace roofcast {
namespace {

using Json = nlohmann::ordered_json;

Json json_value(const Cell& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    if (!std::isfinite(*number)) return nullptr;
    // Whole numbers print without ".0", as counts should.
    if (*number == std::floor(*number) && std::abs(*number) < 9e15)
      return static_cast<std::int64_t>(*number);
    return *number;
  }
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

/// The place that a tag such as "decode/shares/kv" names, made where it is missing.
Json& place(Json& root, std::string_view tag) {
  Json* node = &root;
  while (!tag.empty()) {
    const std::size_t slash = tag.find('/');
    node = &(*node)[std::string(tag.substr(0, slash))];
    tag = slash == std::string_view::npos ? std::string_view{} : tag.substr(slash + 1);
  }
  return *node;
}

void add(Json& root, const Section& section) {
  for (const Metric& metric : section.metrics) {
    if (metric.audience == Audience::people) continue;
    place(root, metric.tag) = json_value(metric.value);
    if (!metric.range) continue;
    place(root, range_tag(metric.tag, "low")) = json_value(metric.range->first);
    place(root, range_tag(metric.tag, "high")) = json_value(metric.range->second);
  }
}

void add(Json& root, const Table& table) {
  Json rows = Json::array();
  for (const std::vector<Cell>& row : table.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      place(object, table.columns[i].tag) = i < row.size() ? json_value(row[i]) : Json();
    rows.push_back(std::move(object));
  }
  place(root, table.tag) = std::move(rows);
}

void add(Json&, const Note&) {}

}  // namespace

std::string range_tag(std::string_view tag, std::string_view end) {
  std::string text(tag);
  const std::size_t unit = text.ends_with("_s") ? text.size() - 2 : text.size();
  return text.insert(unit, "_" + std::string(end));
}

std::string write_json(const Report& report) {
  Json root = Json::object();
  root["schema"] = 1;
  for (const auto& block : report.blocks)
    std::visit([&](const auto& part) { add(root, part); }, block);
  // Names may come from files in any encoding; JSON has to be UTF-8.
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace roofcast
