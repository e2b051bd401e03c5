#include "sim/report/row_writer.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/report/format_value.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kNumberWidth = 11;  // of human values: "989.4 GFLOP"

std::string json_text(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Texts that go into CSV and JSON as they are; most do, and asking is cheaper than quoting.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x7f && c != ',' && c != '"' && c != '\\';
  });
}

void append_padded(std::string_view text, std::size_t width, bool right, std::string& out) {
  const std::size_t have = display_width(text);
  const std::size_t blanks = width > have ? width - have : 0;
  if (right) out.append(blanks, ' ');
  out += text;
  if (!right) out.append(blanks, ' ');
}

Cell to_cell(ValueKind kind, const RowCell& cell) {
  if (kind == ValueKind::text) return std::string(cell.text);
  return std::isnan(cell.number) ? Cell{} : Cell{cell.number};
}

}  // namespace

void append_number(double value, std::string& out) {
  if (value == std::floor(value) && std::abs(value) < 1e15) {
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), static_cast<std::int64_t>(value));
    return;
  }
  fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), value);
}

RowWriter::RowWriter(std::vector<Column> columns, OutputFormat format,
                     std::vector<std::size_t> text_widths)
    : columns_(std::move(columns)), format_(format), widths_(std::move(text_widths)) {
  widths_.resize(columns_.size(), 0);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::size_t value_width = columns_[i].kind == ValueKind::text ? widths_[i] : kNumberWidth;
    widths_[i] = std::max(value_width, display_width(columns_[i].name));
    json_heads_.push_back(json_text(columns_[i].tag) + ":");
  }
}

void RowWriter::begin(std::string& out) const {
  if (format_ == OutputFormat::json) {
    out += "{\"schema\":1,\"points\":[\n";
    return;
  }
  std::string rule;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const bool numeric = is_numeric(columns_[i].kind);
    if (format_ == OutputFormat::csv) {
      out += (i > 0 ? "," : "") + columns_[i].tag;
    } else if (format_ == OutputFormat::markdown) {
      out += (i > 0 ? " " : "| ") + columns_[i].name + " |";
      rule += numeric ? "---:|" : "---|";
    } else {
      if (i > 0) out += "  ";
      append_padded(columns_[i].name, widths_[i], numeric, out);
    }
  }
  out += "\n";
  if (format_ == OutputFormat::markdown) out += "|" + rule + "\n";
}

void RowWriter::row(std::span<const RowCell> cells, std::string& out) const {
  const bool json = format_ == OutputFormat::json;
  const bool machine = json || format_ == OutputFormat::csv;
  if (json) out += '{';
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const bool is_text = columns_[i].kind == ValueKind::text;
    if (machine) {
      if (i > 0) out += ',';
      if (json) out += json_heads_[i];
      if (is_text && json)
        out += is_plain(cells[i].text) ? '"' + std::string(cells[i].text) + '"'
                                       : json_text(cells[i].text);
      else if (is_text)
        out += is_plain(cells[i].text) ? std::string(cells[i].text) : csv_field(cells[i].text);
      else if (std::isfinite(cells[i].number))
        append_number(cells[i].number, out);
      else if (json)
        out += "null";
    } else if (format_ == OutputFormat::markdown) {
      out += i > 0 ? " " : "| ";
      out += markdown_cell(human_value(columns_[i].kind, to_cell(columns_[i].kind, cells[i])));
      out += " |";
    } else {
      if (i > 0) out += "  ";
      append_padded(human_value(columns_[i].kind, to_cell(columns_[i].kind, cells[i])), widths_[i],
                    is_numeric(columns_[i].kind), out);
    }
  }
  if (format_ == OutputFormat::table) out.erase(out.find_last_not_of(' ') + 1);
  out += json ? "},\n" : "\n";
}

void RowWriter::trim_last(std::string& out) const {
  if (format_ == OutputFormat::json && out.ends_with(",\n")) out.replace(out.size() - 2, 2, "\n");
}

void RowWriter::end(std::string& out) const {
  if (format_ == OutputFormat::json) out += "]}\n";
}

}  // namespace roofcast
