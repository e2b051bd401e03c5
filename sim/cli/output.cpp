#include "sim/cli/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ostream>

#include "model/base/error.hpp"
#include "model/base/text.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kLongestWarning = 200;
constexpr std::size_t kMostWarnings = 20;

}  // namespace

Output::Output(const Options& options, Console& console) : console_(console) {
  if (options.has("output")) file_ = std::make_unique<OutputFile>(options.text("output"));
}

void Output::write(std::string_view text) {
  if (file_) {
    file_->write(text);
    return;
  }
  if (!console_.out.write(text.data(), static_cast<std::streamsize>(text.size())))
    fail_standard_output();
}

void Output::commit() {
  if (file_)
    file_->commit();
  else if (!console_.out.flush())
    fail_standard_output();
}

std::string output_ending(const Options& options) {
  const std::string path = options.text_or("output", "");
  const std::string name = path.substr(path.find_last_of('/') + 1);
  const std::size_t dot = name.find_last_of('.');
  if (dot == std::string::npos) return {};
  std::string ending = name.substr(dot + 1);
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

OutputFormat output_format(const Options& options, std::string_view other) {
  std::vector<std::string> names(kOutputFormatNames.begin(), kOutputFormatNames.end());
  if (!other.empty()) names.emplace_back(other);
  if (options.has("format")) return static_cast<OutputFormat>(options.choice("format", names));
  const std::string ending = output_ending(options);
  // A file without an ending, such as /dev/stdout, takes what people read.
  if (ending.empty() || ending == "txt") return OutputFormat::table;
  for (std::size_t i = 0; i < kOutputFormatNames.size(); ++i)
    if (ending == kOutputFormatNames[i] && ending != "table") return static_cast<OutputFormat>(i);
  throw UsageError(fmt::format(
      "--output: expected a file that ends in {}.json, .csv, .md or .txt, or --format "
      "beside it, got {}",
      other.empty() ? "" : fmt::format(".{}, ", other), in_quotes(options.text("output"))));
}

void write_report(const Report& report, const Options& options, Output& output,
                  const Console& console) {
  const TextStyle style{.color = console.color && !output.to_file()};
  output.write(write_report(report, output_format(options), style));
  output.commit();
}

ProgressLine::Screen progress_screen(const Console& console) {
  return console.err_is_terminal ? ProgressLine::Screen::terminal : ProgressLine::Screen::log;
}

void warn(Console& console, std::string_view text) {
  console.err << "roofcast: warning: " << shortened(printable(text), kLongestWarning) << "\n";
}

void warn(Console& console, const std::vector<std::string>& texts) {
  const std::size_t shown = std::min(texts.size(), kMostWarnings);
  for (std::size_t i = 0; i < shown; ++i) warn(console, texts[i]);
  if (shown < texts.size()) warn(console, fmt::format("... and {} more", texts.size() - shown));
}

}  // namespace roofcast
