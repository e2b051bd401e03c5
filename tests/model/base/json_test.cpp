#include <doctest/doctest.h>

#include <string>

#include "model/base/document.hpp"
#include "model/base/spec_reader.hpp"

using namespace roofcast;

namespace {

std::string error_of(std::string_view text) {
  try {
    parse_json(text, "x.json");
  } catch (const SpecError& error) {
    return error.what();
  }
  return "no error";
}

const Value& at(const Document& document, std::string_view key) {
  const Value* value = document.root.find(key);
  REQUIRE(value != nullptr);
  return *value;
}

}  // namespace

TEST_CASE("a JSON document becomes the same tree as YAML, with places") {
  const Document doc =
      parse_json("{\n  \"a\": 12,\n  \"b\": [true, {\"c\": \"x\"}, null]\n}\n", "x.json");
  CHECK(at(doc, "a").scalar == "12");
  CHECK_FALSE(at(doc, "a").quoted_text);
  CHECK(at(doc, "a").at == Position{2, 8});
  const Value& list = at(doc, "b");
  CHECK(list.at == Position{3, 8});
  REQUIRE(list.items.size() == 3);
  CHECK(list.items[0].scalar == "true");
  CHECK(list.items[0].at == Position{3, 9});
  CHECK(list.items[1].at == Position{3, 15});
  CHECK(list.items[1].find("c")->quoted_text);
  CHECK(list.items[1].find("c")->at == Position{3, 21});
  CHECK(list.items[2].is_null());
}

TEST_CASE("numbers keep the text that the file has") {
  const Document doc =
      parse_json("{\"a\": 1e-05, \"b\": 0.10, \"c\": 18446744073709551615, \"d\": -3}", "x.json");
  CHECK(at(doc, "a").scalar == "1e-05");
  CHECK(at(doc, "b").scalar == "0.10");
  CHECK(at(doc, "c").scalar == "18446744073709551615");
  CHECK(at(doc, "d").scalar == "-3");
}

TEST_CASE("numbers beyond all types are refused by the reader or the parser, never wrapped") {
  const Document doc = parse_json("{\"a\": 123456789012345678901234567890}", "x.json");
  SpecReader reader(doc.root, doc.file);
  CHECK_THROWS_AS(reader.integer("a"), SpecError);
  CHECK(error_of("{\"a\": 1e999}").starts_with("x.json:1:"));
}

TEST_CASE("a key that appears twice is refused at its second place") {
  CHECK(error_of("{\"a\": 1,\n \"a\": 2}") == "x.json:2:2: key \"a\" appears twice");
  CHECK(error_of("{\"m\": {\"k\": 1, \"k\": 2}}") == "x.json:1:16: key \"k\" appears twice");
}

TEST_CASE("deep nesting is refused") {
  CHECK(error_of(std::string(1000000, '[')) == "x.json:1:65: nested deeper than 64 levels");
  std::string maps;
  for (int i = 0; i < 100000; ++i) maps += "{\"a\":";
  CHECK(error_of(maps).find("nested deeper than 64 levels") != std::string::npos);
}

TEST_CASE("NaN and Infinity, which Python writes, are values of their own and move no place") {
  const Document doc = parse_json(
      "{\"a\": NaN, \"b\": -Infinity, \"c\": Infinity, \"d\": [NaN, 1, [NaN]], \"e\": \"NaN\"}",
      "x.json");
  CHECK(describe(at(doc, "a")) == "NaN");
  CHECK(at(doc, "a").at == Position{1, 7});
  CHECK(describe(at(doc, "b")) == "-Infinity");
  CHECK(describe(at(doc, "c")) == "Infinity");
  const Value& list = at(doc, "d");
  REQUIRE(list.items.size() == 3);
  CHECK(describe(list.items[0]) == "NaN");
  CHECK(list.items[1].scalar == "1");
  REQUIRE(list.items[2].items.size() == 1);
  CHECK(describe(list.items[2].items[0]) == "NaN");
  CHECK(at(doc, "e").scalar == "NaN");
  CHECK(at(doc, "e").at.column == 70);
}

TEST_CASE("no typed read takes NaN or Infinity, for a number, a text or an absent key") {
  const Document doc = parse_json("{\"a\": NaN, \"b\": -Infinity, \"c\": [Infinity]}", "x.json");
  const auto message = [&](auto read) -> std::string {
    SpecReader reader(doc.root, doc.file);
    try {
      read(reader);
    } catch (const SpecError& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK(message([](SpecReader& r) { r.integer_or("a", 1, 1, 8); }) ==
        "x.json:1:7: a: expected a whole number from 1 to 8, got NaN");
  CHECK(message([](SpecReader& r) { r.number("b", 0, 1); }) ==
        "x.json:1:17: b: expected a number from 0 to 1, got -Infinity");
  CHECK(message([](SpecReader& r) { r.optional_string("a"); }) ==
        "x.json:1:7: a: expected a text, got NaN");
  CHECK(message([](SpecReader& r) { r.boolean_or("a", true); }).ends_with("got NaN"));
  CHECK(message([](SpecReader& r) { r.optional_child("a"); }).ends_with("got NaN"));
  CHECK(message([](SpecReader& r) { r.children("c"); }).ends_with("got Infinity"));
}

TEST_CASE("an empty list is a list") {
  const Document doc = parse_json("{\"a\": [], \"b\": [[], NaN]}", "x.json");
  CHECK(at(doc, "a").is_sequence());
  CHECK(at(doc, "b").items[0].is_sequence());
  CHECK(describe(at(doc, "b").items[1]) == "NaN");
}

TEST_CASE("words in strings stay, after any escape") {
  const Document doc =
      parse_json("{\"a\": \"Infinity \\\" NaN\", \"b\": \"\\\\\", \"c\": NaN}", "x.json");
  CHECK(at(doc, "a").scalar == "Infinity \" NaN");
  CHECK(at(doc, "b").scalar == "\\");
  CHECK(describe(at(doc, "c")) == "NaN");
}

TEST_CASE("a file that stops too early says so at its end") {
  CHECK(error_of("") == "x.json:1:1: expected more JSON, got the end of the file");
  CHECK(error_of("{\"a\": 1") == "x.json:1:8: expected more JSON, got the end of the file");
  CHECK(error_of("{\"a\": \"abc").starts_with("x.json:1:"));
  CHECK(error_of("[1, 2").starts_with("x.json:1:"));
}

TEST_CASE("broken JSON is one error with a place") {
  for (const char* text : {"{a: 1}", "{'a': 1}", "{\"a\" 1}", "{\"a\": 1,}", "[1 2]", "nul", "{}{}",
                           "{} x", "{\"a\": 01}", "{\"a\": 0x1}", "\"\x01\"", "{NaN: 1}", "NaNx"}) {
    CAPTURE(text);
    const std::string error = error_of(text);
    CHECK(error.starts_with("x.json:1:"));
    CHECK(error.find('\n') == std::string::npos);
  }
}

TEST_CASE("bytes that are no UTF-8 are refused") {
  CHECK(error_of("{\"a\": \"\xff\"}").starts_with("x.json:1:"));
  CHECK(error_of("{\"a\": \"\xed\xa0\x80\"}").starts_with("x.json:1:"));
}
