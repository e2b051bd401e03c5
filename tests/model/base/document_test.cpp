#include "model/base/document.hpp"

#include <doctest/doctest.h>

#include <string>

#include "model/base/spec_reader.hpp"
#include "tests/model/architecture/temporary_folder.hpp"

using namespace roofcast;

namespace {

Document sample() {
  return parse_yaml("name: x\nbandwidth: {value: 4.8 TB/s, source: ds}\nlayers: [{count: 3}]\n",
                    "x.yaml");
}

std::string error_of(std::string_view key, std::string_view text) {
  Document document = sample();
  try {
    set_value(document, key, text);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("an override replaces a value, at any depth") {
  Document document = sample();
  set_value(document, "name", "y");
  set_value(document, "layers.0.count", "7");
  CHECK(document.root.find("name")->scalar == "y");
  CHECK(document.root.find("layers")->items[0].find("count")->scalar == "7");
}

TEST_CASE("an override adds keys and maps that the document lacks") {
  Document document = sample();
  set_value(document, "formats.kv", "fp8_e4m3");
  CHECK(document.root.find("formats")->find("kv")->scalar == "fp8_e4m3");
}

TEST_CASE("an override finds an item of a list by its name") {
  Document document =
      parse_yaml("memory:\n  - {name: hbm3, size: 1}\n  - {name: dram}\n", "x.yaml");
  set_value(document, "memory.hbm3.size", "7");
  CHECK(document.root.find("memory")->items[0].find("size")->scalar == "7");
  CHECK_THROWS_WITH_AS(set_value(document, "memory.hbm2.size", "7"),
                       "--set memory.hbm2.size: expected the number or name of an item (hbm3, "
                       "dram), got \"hbm2\"",
                       SpecError);
}

TEST_CASE("an override may be a list or a map, in YAML") {
  Document document = sample();
  set_value(document, "layers", "[{count: 1}, {count: 2}]");
  CHECK(document.root.find("layers")->items.size() == 2);
}

TEST_CASE("an override of a sourced value replaces the value and keeps its shape") {
  Document document = sample();
  set_value(document, "bandwidth", "5 TB/s");
  const Value& bandwidth = *document.root.find("bandwidth");
  REQUIRE(bandwidth.is_map());
  CHECK(bandwidth.find("value")->scalar == "5 TB/s");
  CHECK(bandwidth.find("source")->scalar == "ds");
  set_value(document, "bandwidth", "{value: 6 TB/s}");
  CHECK(document.root.find("bandwidth")->find("source") == nullptr);
}

TEST_CASE("an override returns its key in one spelling, whichever was used") {
  Document document = parse_yaml(
      "memory:\n  - {name: hbm3, bandwidth: {value: 1, source: ds}}\nlayers: [{count: 1}]\n", "x");
  for (const char* key :
       {"memory.0.bandwidth", "memory.hbm3.bandwidth", "memory.0.bandwidth.value"})
    CHECK(set_value(document, key, "2") == "memory.hbm3.bandwidth");
  CHECK(set_value(document, "layers.0.count", "2") == "layers.0.count");
  CHECK(set_value(document, "new.value", "2") == "new.value");
  CHECK(set_value(document, "value", "2") == "value");
}

TEST_CASE("an error about an overridden value blames the option, not the file") {
  Document document = sample();
  set_value(document, "hidden_dim", "many", "model");
  SpecReader reader(document.root, document.file);
  CHECK_THROWS_WITH_AS(reader.integer("hidden_dim", 1, 9),
                       "--set model.hidden_dim: expected a whole number from 1 to 9, got \"many\"",
                       SpecError);
  Document misspelt = parse_yaml("{}", "x.yaml");
  set_value(misspelt, "hiden_dim", "1", "model");
  SpecReader strict(misspelt.root, misspelt.file);
  strict.accept("hidden_dim");
  CHECK_THROWS_WITH_AS(strict.reject_unknown_keys(),
                       "--set model.hiden_dim: unknown key, did you mean \"hidden_dim\"?",
                       SpecError);
  // Inside a list that was set, the place counts in the option's text.
  set_value(document, "layers", "[{count: 1}, {count: x}]", "model");
  CHECK_THROWS_WITH_AS(
      SpecReader(document.root, document.file).children("layers")[1].integer("count", 1, 9),
      "--set model.layers:1:22: layers.1.count: expected a whole number from 1 to 9, got \"x\"",
      SpecError);
}

TEST_CASE("an override that leads nowhere says why") {
  CHECK(error_of("name.x", "1") == "--set name.x: expected a map or list above \"x\", got \"x\"");
  CHECK(error_of("layers.1.count", "1") ==
        "--set layers.1.count: expected the number of one of 1 items, got \"1\"");
  CHECK(error_of("layers.-1", "1").find("one of 1 items") != std::string::npos);
  CHECK(error_of("layers.x", "1").find("got \"x\"") != std::string::npos);
  for (const char* key : {"", ".", "a.", ".a", "a..b"}) {
    CAPTURE(key);
    CHECK(error_of(key, "1").find("expected names between dots") != std::string::npos);
  }
  CHECK(error_of("name", "[1").starts_with("--set name:1:"));
}

TEST_CASE("a text file is read whole, and refused when it is none or too large") {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("a.txt", std::string_view("a\r\nb\0c", 6));
  CHECK(read_text_file(path) == std::string("a\r\nb\0c", 6));
  CHECK_THROWS_AS(read_text_file(path, 5), SpecError);
  CHECK_THROWS_AS(read_text_file((folder / "none").string()), IoError);
  CHECK_THROWS_AS(read_text_file(folder.string()), IoError);
  CHECK_THROWS_AS(read_text_file("/dev/null"), IoError);
}
