#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/command_line.hpp"
#include "sim/cli/options.hpp"

namespace roofcast {

/// One subcommand. `example` is a full command line that works as it stands.
struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view positional;  // "FILE": the one argument without a name; empty: none
  std::string_view example;
  std::vector<OptionRow> (*options)();
  int (*run)(const Options& options, Console& console);
};

/// All commands, in the order of --help. Each is made in the file of its name.
std::span<const Command> commands();

Command predict_command();
Command explain_command();
Command sweep_command();
Command calibrate_command();
Command list_command();
Command import_command();
Command validate_command();

}  // namespace roofcast
