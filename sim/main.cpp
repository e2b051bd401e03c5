#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "sim/cli/command_line.hpp"

int main(int argc, char** argv) {
  // A reader that goes away ends the command in order (exit code 4): files in progress are removed.
  std::signal(SIGPIPE, SIG_IGN);
  std::ios::sync_with_stdio(false);

  const bool out_is_terminal = isatty(STDOUT_FILENO) != 0;
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  roofcast::Console console{.out = std::cout,
                            .err = std::cerr,
                            .out_is_terminal = out_is_terminal,
                            .err_is_terminal = isatty(STDERR_FILENO) != 0,
                            .color = out_is_terminal &&
                                     (no_color == nullptr || *no_color == '\0') &&
                                     (terminal == nullptr || std::string(terminal) != "dumb")};
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return roofcast::run_command_line(args, console);
}
