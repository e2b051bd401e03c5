#include <algorithm>

#include "sim/report/format_value.hpp"
#include "sim/report/report.hpp"

namespace roofcast {
namespace {

void append_line(const std::vector<std::string>& fields, std::string& out) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += ',';
    out += csv_field(fields[i]);
  }
  out += '\n';
}

/// "decode/shares/kv" -> "decode.shares.kv": what data frames take as a column name.
std::string column_head(std::string tag) {
  std::replace(tag.begin(), tag.end(), '/', '.');
  return tag;
}

std::string table_csv(const Table& table) {
  std::string out;
  std::vector<std::string> fields;
  for (const Column& column : table.columns) fields.push_back(column_head(column.tag));
  append_line(fields, out);
  for (const std::vector<Cell>& row : table.rows) {
    fields.assign(table.columns.size(), "");
    for (std::size_t i = 0; i < row.size() && i < fields.size(); ++i)
      fields[i] = plain_value(row[i]);
    append_line(fields, out);
  }
  return out;
}

std::string metrics_csv(const Report& report) {
  std::vector<std::string> heads;
  std::vector<std::string> values;
  for (const auto& block : report.blocks) {
    const auto* section = std::get_if<Section>(&block);
    if (section == nullptr) continue;
    for (const Metric& metric : section->metrics) {
      if (metric.audience == Audience::people) continue;
      heads.push_back(column_head(metric.tag));
      values.push_back(plain_value(metric.value));
      if (!metric.range) continue;
      heads.push_back(column_head(range_tag(metric.tag, "low")));
      values.push_back(plain_value(metric.range->first));
      heads.push_back(column_head(range_tag(metric.tag, "high")));
      values.push_back(plain_value(metric.range->second));
    }
  }
  std::string out;
  append_line(heads, out);
  append_line(values, out);
  return out;
}

}  // namespace

std::string write_csv(const Report& report) {
  for (const auto& block : report.blocks)
    if (const auto* table = std::get_if<Table>(&block);
        table != nullptr && !report.csv_table.empty() && table->tag == report.csv_table)
      return table_csv(*table);
  return metrics_csv(report);
}

}  // namespace roofcast
