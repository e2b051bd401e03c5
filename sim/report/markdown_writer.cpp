#include <fmt/format.h>

#include "sim/report/format_value.hpp"
#include "sim/report/report.hpp"

namespace roofcast {
namespace {

std::string heading(const std::string& title) {
  return title.empty() ? "" : fmt::format("### {}\n\n", title);
}

std::string markdown_of(const Section& section) {
  std::string rows;
  for (const Metric& metric : section.metrics) {
    if (metric.audience == Audience::scripts) continue;
    std::string range;
    if (metric.range)
      range = fmt::format("{} .. {}", human_value(metric.kind, metric.range->first),
                          human_value(metric.kind, metric.range->second));
    rows += fmt::format("| {} | {} | {} | {} |\n", markdown_cell(metric.name),
                        markdown_cell(human_value(metric.kind, metric.value)), range,
                        markdown_cell(metric.description));
  }
  if (rows.empty()) return {};
  return heading(section.title) + "| figure | value | 80 % range | note |\n|---|---:|---|---|\n" +
         rows;
}

std::string markdown_of(const Table& table) {
  if (table.audience == Audience::scripts || table.rows.empty()) return {};
  std::string head = "|";
  std::string rule = "|";
  for (const Column& column : table.columns) {
    if (column.audience == Audience::scripts) continue;
    head += fmt::format(" {} |", markdown_cell(column.name));
    rule += is_numeric(column.kind) ? "---:|" : "---|";
  }
  std::string out = heading(table.title) + head + "\n" + rule + "\n";
  for (const std::vector<Cell>& row : table.rows) {
    out += "|";
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].audience != Audience::scripts)
        out += fmt::format(
            " {} |",
            markdown_cell(i < row.size() ? human_value(table.columns[i].kind, row[i]) : ""));
    out += "\n";
  }
  return out;
}

std::string markdown_of(const Note& note) { return note.text + "\n"; }

}  // namespace

std::string write_markdown(const Report& report) {
  std::string out;
  for (const auto& block : report.blocks) {
    const std::string text = std::visit([](const auto& part) { return markdown_of(part); }, block);
    if (!out.empty() && !text.empty()) out += "\n";
    out += text;
  }
  return out;
}

}  // namespace roofcast
