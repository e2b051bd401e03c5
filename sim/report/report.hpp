#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace roofcast {

/// What a figure is. Printers know kinds, not figures: a new figure touches no printer. Values are
/// in SI base units; `ratio` is a fraction of 1.
enum class ValueKind {
  text,
  count,        // whole or expected number of things
  duration,     // s
  bytes,        // B
  byte_rate,    // B/s
  flops,        // FLOP
  flop_rate,    // FLOP/s
  token_rate,   // tok/s
  intensity,    // FLOP/B
  ratio,        // 0..1, people read percent
  signed_ratio  // errors: people read percent with a sign
};

/// One value; empty where there is none.
using Cell = std::variant<std::monostate, double, bool, std::string>;

/// Who reads a figure. Only people get a figure that repeats another one in their words.
enum class Audience { everyone, scripts, people };

/// One figure of a report.
struct Metric {
  std::string tag;   // stable and hierarchical, "decode/tpot_s": JSON nests by it
  std::string name;  // what people read: "TPOT"
  ValueKind kind = ValueKind::text;
  Cell value = {};
  std::string description = {};  // one sentence, with the assumption that matters
  std::optional<std::pair<double, double>> range = {};  // 80 % interval, low and high
  Audience audience = Audience::everyone;
};

/// How people see a section's figures: as lines, or as bars (ratios).
enum class Layout { lines, bars };

struct Section {
  std::string title = {};
  Layout layout = Layout::lines;
  std::vector<Metric> metrics = {};
};

struct Column {
  std::string tag;
  std::string name;
  ValueKind kind = ValueKind::text;
  Audience audience = Audience::everyone;
};

/// Rows of equal form. JSON: an array of objects under `tag`. A row that is shorter than `columns`
/// has no values in the last ones.
struct Table {
  std::string tag;
  std::string title = {};
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};
  Audience audience = Audience::everyone;
};

/// A sentence for people only.
struct Note {
  std::string text;
};

/// What a command answers, as data. The CSV form is the table `csv_table` when that names one, else
/// one row of all figures.
struct Report {
  std::vector<std::variant<Section, Table, Note>> blocks = {};
  std::string csv_table = {};
};

enum class OutputFormat { table, json, csv, markdown };
inline constexpr std::array<std::string_view, 4> kOutputFormatNames = {"table", "json", "csv",
                                                                       "md"};

/// What the reader's screen can do.
struct TextStyle {
  bool color = false;
};

/// The report as text that ends with a line feed. JSON: numbers in SI base units, never NaN or
/// infinity (null instead).
std::string write_report(const Report& report, OutputFormat format, const TextStyle& style = {});

std::string write_text(const Report& report, const TextStyle& style);
std::string write_json(const Report& report);
std::string write_csv(const Report& report);
std::string write_markdown(const Report& report);

/// Tag of the end of a range: "_low" or "_high" before the unit, "tpot_s" -> "tpot_low_s".
std::string range_tag(std::string_view tag, std::string_view end);

}  // namespace roofcast
