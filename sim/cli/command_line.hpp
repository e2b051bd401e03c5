#pragma once

#include <iosfwd>
#include <stdexcept>
#include <string>
#include <vector>

namespace roofcast {

/// What a process ends with; documented in --help and docs/cli.md.
enum ExitCode { kExitOk = 0, kExitNo = 1, kExitUsage = 2, kExitBadInput = 3, kExitIo = 4 };

/// The command line is wrong; what() is one line that names the option.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The reader of the standard output went away, as `head` does: an exit code, but no message.
class ClosedPipe : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws for a standard output that took no more text: ClosedPipe or IoError.
[[noreturn]] void fail_standard_output();

/// Where a command's answer, its warnings and its progress go, and what is behind them.
struct Console {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool color = false;
};

/// Runs "roofcast ARGS" and returns the exit code. Errors are one line on `console.err`.
int run_command_line(const std::vector<std::string>& args, Console& console);

}  // namespace roofcast
