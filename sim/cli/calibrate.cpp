#include <fmt/format.h>

#include <cstdio>

#include "hardware/src/calibration.hpp"
#include "microbench/calibrate_cpu.hpp"
#include "model/base/files.hpp"
#include "model/base/text.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/output.hpp"
#include "sim/report/calibration_report.hpp"
#include "sim/validation.hpp"

namespace roofcast {
namespace {

std::vector<OptionRow> calibrate_options() {
  return {
      {"device", "DEVICE", "what to measure: cpu", "cpu"},
      {"quick", "", "under a minute instead of under ten"},
      {"threads", "N", "threads; one per physical core by default"},
      {"output", "FILE", "the calibrated YAML, which appears whole or not at all"},
      {"journal", "FILE",
       "measured points of a run that is not finished, taken up by the next; the file of --output "
       "and .journal by default"},
      {"format", "FORMAT", "of the summary on standard output: table, json, csv or md", "table"}};
}

/// Beside the output where that is a regular file or will be one.
std::string journal_path(const Options& options) {
  if (options.has("journal")) return options.text("journal");
  const std::string& output = options.text("output");
  const PathKind kind = path_kind(output);
  return kind == PathKind::file || kind == PathKind::missing ? output + ".journal" : "";
}

void note(Console& console, std::string_view text) {
  console.err << "roofcast: " << printable(text) << "\n";
}

int run_calibrate(const Options& options, Console& console) {
  options.choice("device", {"cpu"});
  const OutputFormat format = output_format(options);
  if (!options.has("output"))
    throw UsageError("--output: missing, required: the file that receives the calibration");
  CalibrateOptions request;
  request.quick = options.has("quick");
  if (options.has("threads"))
    request.threads = static_cast<int>(options.integer("threads", 1, 4096));
  Output output(options, console);
  request.journal = journal_path(options);
  request.note = [&](std::string_view text) { note(console, text); };
  CpuCalibration result;
  {
    ProgressLine line(console.err, progress_screen(console));
    result = calibrate_cpu(request, [&](std::string_view what, double done) {
      line.update([&](double seconds) { return share_text(what, done, seconds); });
    });
  }
  output.write(write_calibration_yaml(result.calibration, result.machine));
  output.commit();
  if (!request.journal.empty()) std::remove(request.journal.c_str());
  for (const std::string& limit : result.limits) warn(console, limit);
  const Report report =
      calibration_report(result.machine, result.calibration, result.redone, result.unsteady);
  console.out << write_report(report, format, {.color = console.color});
  if (static_cast<double>(result.unsteady) >
      kMaxUnsteady * static_cast<double>(result.points.size()))
    warn(console,
         fmt::format("{} of {} points were measured while the machine changed, so these constants "
                     "are not to be trusted; calibrate again when nothing else runs",
                     result.unsteady, result.points.size()));
  return kExitOk;
}

}  // namespace

Command calibrate_command() {
  return {"calibrate",
          "measures this machine and writes its calibrated YAML",
          "",
          "roofcast calibrate --device cpu --quick --output cpu.yaml",
          calibrate_options,
          run_calibrate};
}

}  // namespace roofcast
