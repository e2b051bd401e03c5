#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/command_line.hpp"
#include "sim/cli/options.hpp"
#include "sim/report/output_file.hpp"
#include "sim/report/progress.hpp"
#include "sim/report/report.hpp"

namespace roofcast {

/// Where a command's answer goes: standard output, or the file of --output, which appears whole or
/// not at all. Made before the work, so that a bad path costs nothing.
class Output {
 public:
  Output(const Options& options, Console& console);

  void write(std::string_view text);
  /// Call when the answer is complete. Throws IoError when it did not arrive.
  void commit();
  bool to_file() const { return file_ != nullptr; }

 private:
  Console& console_;
  std::unique_ptr<OutputFile> file_;
};

/// What stands behind the last dot of --output, in lower case; empty without.
std::string output_ending(const Options& options);

/// The format of --format; without it what the ending of --output says, or "table". Throws
/// UsageError for an ending that says nothing. `other` is one more format, named in messages, that
/// the command itself knows.
OutputFormat output_format(const Options& options, std::string_view other = {});

/// Writes the report and commits.
void write_report(const Report& report, const Options& options, Output& output,
                  const Console& console);

/// How progress shows on standard error.
ProgressLine::Screen progress_screen(const Console& console);

/// One line on standard error: printable, and cut at 200 bytes.
void warn(Console& console, std::string_view text);

/// One line for each, but for at most 20.
void warn(Console& console, const std::vector<std::string>& texts);

}  // namespace roofcast
