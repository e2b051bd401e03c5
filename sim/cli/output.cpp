#include "sim/cli/output.hpp"

#include <algorithm>
#include <ostream>

#include "model/base/error.hpp"

namespace roofcast {

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

OutputFormat output_format(const Options& options) {
  if (options.has("format"))
    return static_cast<OutputFormat>(
        options.choice("format", {kOutputFormatNames.begin(), kOutputFormatNames.end()}));
  const std::string path = options.text_or("output", "");
  for (std::size_t i = 0; i < kOutputFormatNames.size(); ++i)
    if (path.ends_with("." + std::string(kOutputFormatNames[i])))
      return static_cast<OutputFormat>(i);
  return OutputFormat::table;
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

void warn(Console& console, const std::string& text) {
  std::string line = text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  console.err << "roofcast: warning: " << line << "\n";
}

}  // namespace roofcast
