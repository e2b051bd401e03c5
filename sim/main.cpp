#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "sim/cli/command_line.hpp"

namespace {

/// A file that is opened while a standard stream is closed gets its number, and with it all that is
/// meant for the stream. What is opened here in the stream's place fails when it is used, as the
/// closed stream would.
void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF)
      static_cast<void>(open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

}  // namespace

int main(int argc, char** argv) {
  occupy_closed_streams();
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
