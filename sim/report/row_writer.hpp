#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/report.hpp"

namespace roofcast {

/// One value of a streamed row: a text for columns of kind `text`, else a number; NaN where there
/// is none. `text` must outlive the call it is passed to.
struct RowCell {
  double number = 0.0;
  std::string_view text = {};
};

/// Writes tables of any length row by row, for results that do not fit a Report. All functions are
/// const and append to the caller's buffer, so that threads can write parts of one table at once.
class RowWriter {
 public:
  /// `text_widths` are the widths of the longest value of each column of kind `text` (others are
  /// ignored): aligned output needs them before the first row.
  RowWriter(std::vector<Column> columns, OutputFormat format, std::vector<std::size_t> text_widths);

  const std::vector<Column>& columns() const { return columns_; }

  void begin(std::string& out) const;
  void row(std::span<const RowCell> cells, std::string& out) const;
  void end(std::string& out) const;

  /// Drops what must not follow the last row (JSON's comma) from the text of the last rows.
  void trim_last(std::string& out) const;

 private:
  std::vector<Column> columns_;
  OutputFormat format_;
  std::vector<std::size_t> widths_;
  std::vector<std::string> json_heads_;
};

/// Appends `value` as the shortest text that reads back as the same number; whole ones without an
/// exponent.
void append_number(double value, std::string& out);

}  // namespace roofcast
