#pragma once

#include <string>
#include <string_view>

#include "sim/report/report.hpp"

namespace roofcast {

/// The value as people read it: prefix and unit by its kind ("4.9 ms", "3.35 TB/s", "93.4 %").
/// Empty for an empty cell, "-" for a number that is not finite. Texts, which may come from files,
/// are made printable and cut at 500 bytes.
std::string human_value(ValueKind kind, const Cell& value);

/// A text as people read it: printable, and cut at 500 bytes, longer than any citation.
std::string human_text(std::string_view text);

/// The value as scripts read it: base units, shortest form that reads back to the same number, no
/// unit. Empty for an empty cell and for a number that is not finite.
std::string plain_value(const Cell& value);

/// `text` as one CSV field in UTF-8, quoted where RFC 4180 asks for it.
std::string csv_field(std::string_view text);

/// A text as one cell of a markdown table: "|" would end it and a line feed the row.
std::string markdown_cell(std::string_view text);

/// Numbers stand to the right in tables.
constexpr bool is_numeric(ValueKind kind) { return kind != ValueKind::text; }

/// Columns that `text` takes on a screen: code points of UTF-8, all of single width.
std::size_t display_width(std::string_view text);

}  // namespace roofcast
