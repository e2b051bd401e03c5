#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/cli/cli_runner.hpp"

using namespace roofcast::test;

namespace {

const std::string kBinary = ROOFCAST_BINARY_DIR "/roofcast ";
const std::string kPredict = kBinary + "predict --model llama-3.1-8b --hardware h100-sxm ";

/// Exit code of a shell command.
int shell(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("the program answers on standard output") {
  const TemporaryFolder folder;
  CHECK(shell(kPredict + "--format json > " + folder.file("out")) == 0);
  CHECK(nlohmann::json::parse(read_file(folder.file("out")))["schema"] == 1);
}

TEST_CASE("a full device exits 4 with one line, a reader that went away without") {
  const TemporaryFolder folder;
  CHECK(shell(kPredict + "> /dev/full 2> " + folder.file("err")) == 4);
  CHECK(lines_of(read_file(folder.file("err"))).size() == 1);
  CHECK(read_file(folder.file("err")).find("roofcast: ") == 0);
  const std::string sweep = kBinary +
                            "sweep --model llama-3.1-8b --hardware h100-sxm --format csv "
                            "--batch 1..100000:+1";
  CHECK(shell("bash -c '" + sweep + " 2> " + folder.file("err") +
              " | head -n 1 > /dev/null; exit ${PIPESTATUS[0]}'") == 4);
  CHECK(read_file(folder.file("err")).empty());
}

TEST_CASE("what is meant for a closed stream lands in no file, and a closed output is an error") {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  // A context above the maximum is warned about.
  CHECK(shell(kPredict + "--context 200000 --output " + file + " 2>&-") == 0);
  CHECK(nlohmann::json::parse(read_file(file))["schema"] == 1);
  CHECK(shell(kPredict + "--context 200000 --output " + file + " <&- >&- 2>&-") == 0);
  CHECK(nlohmann::json::parse(read_file(file))["schema"] == 1);
  CHECK(shell(kPredict + ">&- 2> " + folder.file("err")) == 4);
  CHECK(read_file(folder.file("err")) == "roofcast: cannot write to the standard output\n");
}

TEST_CASE("no color reaches what is no terminal, and NO_COLOR keeps it from one") {
  const TemporaryFolder folder;
  CHECK(shell(kPredict + "> " + folder.file("plain")) == 0);
  CHECK(read_file(folder.file("plain")).find('\x1b') == std::string::npos);
}

TEST_CASE("an interrupted sweep leaves no file") {
  const TemporaryFolder folder;
  const std::string sweep = kBinary +
                            "sweep --model deepseek-v3 --hardware h100-sxm --batch 1..1000:+1 "
                            "--context 1..1000000:+97 --output " +
                            folder.file("s.csv");
  for (const char* signal : {"INT", "KILL"}) {
    CAPTURE(signal);
    CHECK(shell(std::string("timeout --signal=") + signal + " 0.5 " + sweep + " 2> /dev/null") !=
          0);
    CHECK(folder.entries() == 0);
  }
}
