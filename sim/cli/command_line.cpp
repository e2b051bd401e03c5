#include "sim/cli/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <new>
#include <ostream>

#include "model/base/error.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/version.hpp"

namespace roofcast {
namespace {

constexpr std::string_view kExitCodes =
    "Exit codes: 0 answered; 1 the answer is no (such as a validation above its stated error);\n"
    "2 wrong command line; 3 bad input file or unknown name; 4 device or I/O failure.\n";

std::string general_help() {
  std::string out =
      "Roofcast predicts how many tokens per second a language model decodes on given hardware,\n"
      "what limits it, and how sure that is.\n\nUsage: roofcast COMMAND [OPTION...]\n\n";
  for (const Command& command : commands())
    out += fmt::format("  {:<11}{}\n", command.name, command.summary);
  out += "\n\"roofcast COMMAND --help\" explains a command. Example:\n\n  " +
         std::string(predict_command().example) + "\n\n";
  return out + std::string(kExitCodes);
}

std::string command_help(const Command& command) {
  return fmt::format("{}\n\nUsage: roofcast {}{}{} [OPTION...]\n\n{}\nExample:\n\n  {}\n\n{}",
                     command.summary, command.name, command.positional.empty() ? "" : " ",
                     command.positional, options_help(command.options()), command.example,
                     kExitCodes);
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  throw UsageError(fmt::format("unknown command {}{}; \"roofcast --help\" lists them",
                               in_quotes(name), did_you_mean(name, names)));
}

int run_checked(const std::vector<std::string>& args, Console& console) {
  if (args.empty()) throw UsageError("expected a command; \"roofcast --help\" lists them");
  const std::string& first = args.front();
  if (first == "--version") {
    console.out << "roofcast " << kVersion << "\n";
    return kExitOk;
  }
  if (first == "--help" || first == "-h" || (first == "help" && args.size() == 1)) {
    console.out << general_help();
    return kExitOk;
  }
  if (first == "help") {
    console.out << command_help(find_command(args[1]));
    return kExitOk;
  }
  if (first.starts_with("-"))
    throw UsageError(fmt::format(
        "unknown option {} before the command; \"roofcast --help\" says more", in_quotes(first)));
  const Command& command = find_command(first);
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  const Options options = parse_options(rest, command.options(), std::string(command.positional));
  if (options.has("help")) {
    console.out << command_help(command);
    return kExitOk;
  }
  return command.run(options, console);
}

int report_error(Console& console, const char* what, int code) {
  std::string line = what;
  std::replace(line.begin(), line.end(), '\n', ' ');
  console.err << "roofcast: " << line << "\n";
  return code;
}

}  // namespace

std::span<const Command> commands() {
  static const std::array kCommands = {predict_command(), explain_command(), sweep_command(),
                                       list_command(),    import_command(),  calibrate_command(),
                                       validate_command()};
  return kCommands;
}

void fail_standard_output() {
  if (errno == EPIPE) throw ClosedPipe("the reader of the standard output went away");
  throw IoError("cannot write to the standard output");
}

int run_command_line(const std::vector<std::string>& args, Console& console) {
  try {
    const int code = run_checked(args, console);
    if (!console.out.flush()) fail_standard_output();
    return code;
  } catch (const UsageError& error) {
    return report_error(console, error.what(), kExitUsage);
  } catch (const SpecError& error) {
    return report_error(console, error.what(), kExitBadInput);
  } catch (const IoError& error) {
    return report_error(console, error.what(), kExitIo);
  } catch (const ClosedPipe&) {
    return kExitIo;
  } catch (const std::bad_alloc&) {
    return report_error(console, "out of memory", kExitIo);
  } catch (const std::exception& error) {
    // No error of this program's own kinds: still one line and an exit code, not an abort.
    return report_error(console, error.what(), kExitIo);
  }
}

}  // namespace roofcast
