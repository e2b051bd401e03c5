#include "sim/cli/command_line.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "sim/cli/command.hpp"
#include "tests/cli/cli_runner.hpp"

using namespace roofcast;
using namespace roofcast::test;

namespace {

/// Every error is one line that starts with the program's name.
void check_error(const std::string& line, int code, const std::string& message) {
  CAPTURE(line);
  const CliResult result = run_cli(line);
  CHECK(result.code == code);
  CHECK(result.out.empty());
  CHECK(result.err == "roofcast: " + message + "\n");
}

const std::string kPredict = "predict --model llama-3.1-8b --hardware h100-sxm ";

}  // namespace

TEST_CASE("help names every command and the exit codes; version names the version") {
  const CliResult help = run_cli("--help");
  CHECK(help.code == kExitOk);
  for (const Command& command : commands())
    CHECK(help.out.find("  " + std::string(command.name) + " ") != std::string::npos);
  CHECK(help.out.find("Exit codes: 0 ") != std::string::npos);
  CHECK(run_cli("--version").out == "roofcast " ROOFCAST_VERSION "\n");
}

TEST_CASE("the help of a command shows its options and its example") {
  for (const Command& command : commands()) {
    const CliResult help = run_cli(std::string(command.name) + " --help");
    CHECK(help.code == kExitOk);
    CHECK(help.out.find(command.example) != std::string::npos);
    for (const OptionRow& row : command.options())
      CHECK(help.out.find("--" + row.name) != std::string::npos);
    CHECK(run_cli("help " + std::string(command.name)).out == help.out);
  }
}

TEST_CASE("the example in each help works as it stands") {
  const TemporaryFolder folder;
  const std::string config =
      folder.file("config.json",
                  R"({"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16,
                     "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
                     "intermediate_size": 8192, "vocab_size": 128256,
                     "tie_word_embeddings": true, "max_position_embeddings": 131072})");
  for (const Command& command : commands()) {
    // Measuring commands take their time; their own tests run them on a small model.
    if (command.name == "calibrate" || command.name == "validate") continue;
    std::string line(command.example);
    line = line.substr(line.find(' ') + 1);
    if (command.name == "import")
      line = "import " + config + " --output " + folder.file("my-model.yaml");
    CAPTURE(line);
    const CliResult result = run_cli(line);
    CHECK(result.code == kExitOk);
    CHECK(result.err.empty());
    CHECK_FALSE(result.out.empty());
  }
}

TEST_CASE("unknown commands and options name the nearest one") {
  check_error("predcit", 2,
              "unknown command \"predcit\", did you mean \"predict\"?; \"roofcast --help\" lists "
              "them");
  check_error("predict --modle x", 2, "unknown option \"--modle\", did you mean --model?");
  check_error("", 2, "expected a command; \"roofcast --help\" lists them");
  check_error("--frmat json", 2,
              "unknown option \"--frmat\" before the command; \"roofcast --help\" says more");
  check_error(kPredict + "extra", 2, "unexpected argument \"extra\"");
  check_error("predict --hardware h100-sxm", 2, "--model: missing, required");
  check_error(kPredict + "--batch", 2, "--batch: expected a value");
  check_error(kPredict + "--batch 1 --batch 2", 2, "--batch: given twice");
}

TEST_CASE("a workload that makes no sense is refused with option and range") {
  check_error(kPredict + "--batch 0", 2,
              "--batch: expected a whole number from 1 to 1000000, got \"0\"");
  check_error(kPredict + "--batch 2.5", 2,
              "--batch: expected a whole number from 1 to 1000000, got \"2.5\"");
  check_error(kPredict + "--context -1", 2,
              "--context: expected a whole number from 0 to 1000000000, got \"-1\"");
  check_error(kPredict + "--context 1e30", 2,
              "--context: expected a whole number from 0 to 1000000000, got \"1e30\"");
  check_error(kPredict + "--output-tokens 0", 2,
              "--output-tokens: expected a whole number from 1 to 1000000000, got \"0\"");
  check_error(kPredict + "--tp 3", 2,
              "--tp: 3 ranks do not divide the 32 query heads of llama-3.1-8b");
  check_error(kPredict + "--weight-format q4_k", 2,
              "--weight-format: expected a number format, got \"q4_k\", did you mean \"q4_K\"?");
  check_error(kPredict + "--kv-format fp8/q8", 2,
              "--kv-format: expected a number format, got \"q8\", did you mean \"q8_0\", \"q8_1\" "
              "or \"q8_K\"?");
  check_error(kPredict + "--format jsn", 2,
              "--format: expected one of table, json, csv, md, got \"jsn\", did you mean "
              "\"json\"?");
}

TEST_CASE("unknown names and wrong fields exit 3 with the nearest name") {
  check_error("predict --model llama-3.1-8 --hardware h100-sxm", 3,
              "unknown model \"llama-3.1-8\": expected a catalogue name or the path of a file, did "
              "you mean \"llama-3.1-8b\"?");
  check_error("predict --model llama-3.1-8b --hardware rtx-4091", 3,
              "unknown machine \"rtx-4091\": expected a catalogue name or the path of a file, did "
              "you mean \"rtx-4090\"?");
  check_error(kPredict + "--set model.hiden_dim=8", 3,
              "--set model.hiden_dim: unknown key, did you mean \"hidden_dim\"?");
  check_error(kPredict + "--set modle.hidden_dim=8", 2,
              "--set: expected a key that begins with model, hardware or engine, got \"modle\", "
              "did you mean \"model\"?");
  check_error(kPredict + "--set hidden_dim", 2,
              "--set: expected SCOPE.KEY=VALUE such as model.max_context=8192, got "
              "\"hidden_dim\"");
}

TEST_CASE("files that are missing or wrong are named with the place") {
  const TemporaryFolder folder;
  check_error("import /nonexistent/config.json", 4,
              "/nonexistent/config.json: no such file or folder");
  const std::string broken = folder.file("broken.json", "{\"a\": [1, 2");
  const CliResult result = run_cli("import " + broken);
  CHECK(result.code == 3);
  CHECK(result.err.find("roofcast: " + broken + ":1:") == 0);
  CHECK(lines_of(result.err).size() == 1);
  const std::string alien = folder.file("alien.json", "{\"model_type\": \"telepathy\"}");
  CHECK(run_cli("import " + alien).code == 3);
  CHECK(run_cli("import " + alien).err.find("telepathy") != std::string::npos);
}

TEST_CASE("hostile names stay on one line") {
  std::ostringstream out;
  std::ostringstream err;
  Console console{.out = out, .err = err};
  const std::string name = "a\nb\x1b[31m" + std::string(100000, 'x');
  CHECK(run_command_line({"predict", "--model", name, "--hardware", "h100-sxm"}, console) == 3);
  CHECK(lines_of(err.str()).size() == 1);
  CHECK(err.str().size() < 400);
  CHECK(err.str().find('\x1b') == std::string::npos);
}

TEST_CASE("an output that cannot be written exits 4 and leaves nothing") {
  const TemporaryFolder folder;
  check_error(kPredict + "--output /nonexistent/x.json", 4,
              "/nonexistent/x.json: cannot write: No such file or directory");
  check_error(kPredict + "--output /dev/full", 4,
              "/dev/full: cannot write: No space left on device");
  CHECK(run_cli(kPredict + "--batch 0 --output " + folder.file("x.json")).code == 2);
  CHECK(run_cli("predict --model nix --hardware h100-sxm --output " + folder.file("x.json")).code ==
        3);
  CHECK(folder.entries() == 0);
}

TEST_CASE("an error of a kind that nobody expects is one line too") {
  // A stream that throws std::ios_base::failure stands for any library.
  std::ostream out(nullptr);
  std::ostringstream err;
  Console console{.out = out, .err = err};
  try {
    out.exceptions(std::ios::badbit);
  } catch (const std::ios_base::failure&) {  // without a buffer it is bad already
  }
  CHECK(run_command_line({"--version"}, console) == 4);
  CHECK(lines_of(err.str()).size() == 1);
  CHECK(err.str().starts_with("roofcast: "));
}

TEST_CASE("--output takes its format from the ending, and --format wins") {
  const TemporaryFolder folder;
  const std::string json = folder.file("x.json");
  CHECK(run_cli(kPredict + "--output " + json).out.empty());
  CHECK(nlohmann::json::parse(read_file(json))["model"] == "llama-3.1-8b");
  CHECK(run_cli(kPredict + "--format csv --output " + json).code == 0);
  CHECK(read_file(json).find("model,hardware,") == 0);
  CHECK(folder.entries() == 1);
  const std::string upper = folder.file("X.CSV");
  CHECK(run_cli(kPredict + "--output " + upper).code == 0);
  CHECK(read_file(upper).find("model,hardware,") == 0);
  CHECK(run_cli(kPredict + "--output " + folder.file("x.txt")).code == 0);
  CHECK(run_cli(kPredict + "--output " + folder.file("plain")).code == 0);
  CHECK(folder.entries() == 4);
}

TEST_CASE("an ending that says nothing is refused, unless --format says it") {
  const TemporaryFolder folder;
  for (const char* name : {"x.weird", "x.yaml", "x.table"}) {
    const std::string path = folder.file(name);
    check_error(kPredict + "--output " + path, 2,
                "--output: expected a file that ends in .json, .csv, .md or .txt, or --format "
                "beside it, got \"" +
                    path + "\"");
  }
  check_error("import x.json --output x.weird", 2,
              "--output: expected a file that ends in .yaml, .json, .csv, .md or .txt, or --format "
              "beside it, got \"x.weird\"");
  CHECK(run_cli(kPredict + "--format csv --output " + folder.file("x.weird")).code == 0);
  CHECK(folder.entries() == 1);
}
