#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/format_value.hpp"
#include "sim/report/report.hpp"

namespace roofcast {
namespace {

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t have = display_width(text);
  const std::string blanks(width > have ? width - have : 0, ' ');
  return right ? blanks + text : text + blanks;
}

std::string heading(const std::string& title, const TextStyle& style) {
  if (title.empty()) return {};
  return style.color ? fmt::format("\x1b[1m{}\x1b[0m\n", title) : title + "\n";
}

std::string with_range(const Metric& metric) {
  std::string text = human_value(metric.kind, metric.value);
  if (metric.range)
    text += fmt::format("  ({} .. {})", human_value(metric.kind, metric.range->first),
                        human_value(metric.kind, metric.range->second));
  return text;
}

std::string bar(const Metric& metric) {
  constexpr double kWidth = 30.0;
  const double share = std::clamp(std::get<double>(metric.value), 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(std::lround(share * kWidth));
  return fmt::format("{:>7} {}", human_value(metric.kind, metric.value), std::string(filled, '#'));
}

std::string text_of(const Section& section, const TextStyle& style) {
  std::size_t width = 0;
  std::size_t value_width = 0;
  const auto shown = [](const Metric& m) { return m.audience != Audience::scripts; };
  const auto value_text = [&](const Metric& m) {
    return section.layout == Layout::bars && std::holds_alternative<double>(m.value)
               ? bar(m)
               : with_range(m);
  };
  for (const Metric& metric : section.metrics) {
    if (!shown(metric)) continue;
    width = std::max(width, display_width(metric.name));
    if (!metric.description.empty())
      value_width = std::max(value_width, display_width(value_text(metric)));
  }
  std::string out;
  for (const Metric& metric : section.metrics) {
    if (!shown(metric)) continue;
    std::string line = "  " + padded(metric.name, width, false) + "  ";
    const std::string value = value_text(metric);
    line += metric.description.empty()
                ? value
                : padded(value, value_width, false) + "  " + metric.description;
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out.empty() ? out : heading(section.title, style) + out;
}

std::string text_of(const Table& table, const TextStyle& style) {
  if (table.audience == Audience::scripts || table.rows.empty()) return {};
  std::vector<std::vector<std::string>> lines(table.rows.size() + 1);
  std::vector<std::size_t> widths;
  std::vector<bool> right;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    if (column.audience == Audience::scripts) continue;
    lines[0].push_back(column.name);
    std::size_t width = display_width(column.name);
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const auto& row = table.rows[r];
      lines[r + 1].push_back(c < row.size() ? human_value(column.kind, row[c]) : "");
      width = std::max(width, display_width(lines[r + 1].back()));
    }
    widths.push_back(width);
    right.push_back(is_numeric(column.kind));
  }
  std::string out = heading(table.title, style);
  for (const auto& cells : lines) {
    std::string line = " ";
    for (std::size_t c = 0; c < cells.size(); ++c)
      line += " " + padded(cells[c], widths[c], right[c]) + (c + 1 < cells.size() ? " " : "");
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string text_of(const Note& note, const TextStyle&) { return note.text + "\n"; }

}  // namespace

std::string write_text(const Report& report, const TextStyle& style) {
  std::string out;
  for (const auto& block : report.blocks) {
    const std::string text =
        std::visit([&](const auto& part) { return text_of(part, style); }, block);
    if (!out.empty() && !text.empty()) out += "\n";
    out += text;
  }
  return out;
}

std::string write_report(const Report& report, OutputFormat format, const TextStyle& style) {
  switch (format) {
    case OutputFormat::table:
      return write_text(report, style);
    case OutputFormat::json:
      return write_json(report);
    case OutputFormat::csv:
      return write_csv(report);
    case OutputFormat::markdown:
      return write_markdown(report);
  }
  return {};
}

}  // namespace roofcast
