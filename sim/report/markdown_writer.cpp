#include <fmt/format.h>

#include "sim/report/format_value.hpp"
#include "sim/report/report.hpp"

namespace roofcast {
namespace {

/// A table cell: "|" would end it and a line feed the row.
std::string cell_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string heading(const std::string& title) {
  return title.empty() ? "" : fmt::format("### {}\n\n", title);
}

std::string markdown_of(const Section& section) {
  std::string rows;
  for (const Metric& metric : section.metrics) {
    if (metric.audience != Audience::everyone) continue;
    std::string range;
    if (metric.range)
      range = fmt::format("{} .. {}", human_value(metric.kind, metric.range->first),
                          human_value(metric.kind, metric.range->second));
    rows += fmt::format("| {} | {} | {} | {} |\n", cell_text(metric.name),
                        cell_text(human_value(metric.kind, metric.value)), range,
                        cell_text(metric.description));
  }
  if (rows.empty()) return {};
  return heading(section.title) + "| figure | value | 80 % range | note |\n|---|---:|---|---|\n" +
         rows;
}

std::string markdown_of(const Table& table) {
  if (table.audience != Audience::everyone || table.rows.empty()) return {};
  std::string head = "|";
  std::string rule = "|";
  for (const Column& column : table.columns) {
    if (column.audience != Audience::everyone) continue;
    head += fmt::format(" {} |", cell_text(column.name));
    rule += is_numeric(column.kind) ? "---:|" : "---|";
  }
  std::string out = heading(table.title) + head + "\n" + rule + "\n";
  for (const std::vector<Cell>& row : table.rows) {
    out += "|";
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].audience == Audience::everyone)
        out += fmt::format(
            " {} |", cell_text(i < row.size() ? human_value(table.columns[i].kind, row[i]) : ""));
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
