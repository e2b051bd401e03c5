#include <doctest/doctest.h>

#include <string>

#include "model/base/document.hpp"

using namespace roofcast;

namespace {

std::string error_of(std::string_view text) {
  try {
    parse_yaml(text, "x.yaml");
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

TEST_CASE("a YAML document becomes a tree whose values know their place") {
  const Document doc = parse_yaml("a: 1\nb:\n  - x\n  - {c: 2,  d: three}\n", "x.yaml");
  CHECK(doc.file == "x.yaml");
  CHECK(at(doc, "a").scalar == "1");
  CHECK(at(doc, "a").at == Position{1, 4});
  const Value& list = at(doc, "b");
  REQUIRE(list.is_sequence());
  REQUIRE(list.items.size() == 2);
  CHECK(list.items[0].at == Position{3, 5});
  CHECK(list.items[1].find("c")->at == Position{4, 9});
  CHECK(list.items[1].find("d")->at == Position{4, 16});
  CHECK(list.items[1].find("d")->scalar == "three");
  CHECK(list.items[1].find("e") == nullptr);
}

TEST_CASE("members keep their order, and quotes tell text from numbers") {
  const Document doc = parse_yaml("z: '8'\ny: \"8\"\nx: 8\n", "x.yaml");
  REQUIRE(doc.root.members.size() == 3);
  CHECK(doc.root.members[0].first == "z");
  CHECK(doc.root.members[2].first == "x");
  CHECK(at(doc, "z").quoted_text);
  CHECK(at(doc, "y").quoted_text);
  CHECK_FALSE(at(doc, "x").quoted_text);
}

TEST_CASE("null has three spellings in YAML, and a quoted one is text") {
  const Document doc = parse_yaml("a: null\nb: ~\nc:\nd: 'null'\n", "x.yaml");
  CHECK(at(doc, "a").is_null());
  CHECK(at(doc, "b").is_null());
  CHECK(at(doc, "c").is_null());
  CHECK(at(doc, "d").is_scalar());
}

TEST_CASE("an empty document is null") {
  CHECK(parse_yaml("", "x.yaml").root.is_null());
  CHECK(parse_yaml("# only a comment\n", "x.yaml").root.is_null());
}

TEST_CASE("a key that appears twice is refused at its second place, at any depth") {
  CHECK(error_of("a: 1\nb: 2\na: 3\n") == "x.yaml:3:1: key \"a\" appears twice");
  CHECK(error_of("m:\n  k: 1\n  k: 2\n") == "x.yaml:3:3: key \"k\" appears twice");
  CHECK(error_of("m: {k: 1, 'k': 2}\n") == "x.yaml:1:11: key \"k\" appears twice");
}

TEST_CASE("aliases are refused: a few of them make a document of any size") {
  CHECK(error_of("a: &x 1\nb: *x\n") == "x.yaml:2:4: aliases (*name) are not allowed in specs");
  const std::string laughs = "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n";
  CHECK(error_of(laughs).find("aliases") != std::string::npos);
}

TEST_CASE("deep nesting is refused before it costs memory or stack") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + "1" + std::string(depth, ']');
  };
  CHECK(error_of(nested(64)) == "no error");
  CHECK(error_of(nested(65)) == "x.yaml:1:65: nested deeper than 64 levels");
  CHECK(error_of(nested(100000)) == "x.yaml:1:65: nested deeper than 64 levels");
  std::string dashes;
  for (int i = 0; i < 5000; ++i) dashes += "- ";
  CHECK(error_of(dashes + "1") == "x.yaml:1:129: nested deeper than 64 levels");
  CHECK(error_of(std::string(100000, '[')).starts_with("x.yaml:1:1: expected a plain key"));
}

TEST_CASE("a key has to be plain text") {
  CHECK(error_of("? [a, b]\n: 1\n") ==
        "x.yaml:1:3: expected a plain key (an unclosed [ or { reads as one)");
  CHECK(error_of("? {a: b}\n: 1\n") ==
        "x.yaml:1:3: expected a plain key (an unclosed [ or { reads as one)");
}

TEST_CASE("two documents in one file are refused") {
  CHECK(error_of("a: 1\n---\nb: 2\n") == "x.yaml:3:1: expected one YAML document");
}

TEST_CASE("broken YAML is one error with a place") {
  for (const char* text : {"a: [1, 2", "a: {b: 1", "a: \"open", "a: b: c", "\tx: 1", "a: 1\n b: 2",
                           "- 1\na: 2", "%YAML 9", "a: !<x", "[1, 2"}) {
    CAPTURE(text);
    const std::string error = error_of(text);
    CHECK(error.starts_with("x.yaml:"));
    CHECK(error.find('\n') == std::string::npos);
  }
}

TEST_CASE("bytes that are no UTF-8 are refused with their place") {
  CHECK(error_of("a: 1\nb: x\xff\n") == "x.yaml:2:5: expected UTF-8 text, got the byte 0xff");
  CHECK(error_of("\xc3") == "x.yaml:1:1: expected UTF-8 text, got the byte 0xc3");
  CHECK(error_of("a: \xe2\x82") == "x.yaml:1:4: expected UTF-8 text, got the byte 0xe2");
  // Overlong forms, surrogates and code points above U+10FFFF (RFC 3629, section 3).
  CHECK(error_of("a: \xc0\x80").find("0xc0") != std::string::npos);
  CHECK(error_of("a: \xe0\x80\x80").find("0xe0") != std::string::npos);
  CHECK(error_of("a: \xed\xa0\x80").find("0xed") != std::string::npos);
  CHECK(error_of("a: \xf0\x80\x80\x80").find("0xf0") != std::string::npos);
  CHECK(error_of("a: \xf4\x90\x80\x80").find("0xf4") != std::string::npos);
  CHECK(error_of("\xff\xfe"
                 "a")
            .find("0xff") != std::string::npos);
}

TEST_CASE("text of all lengths of UTF-8 characters is kept") {
  const std::string text = "\xc3\xa9 \xe2\x82\xac \xed\x9f\xbf \xee\x80\x80 \xf0\x9f\x98\x80";
  const Document doc = parse_yaml("a: \"" + text + "\"\nb: 1\n", "x.yaml");
  CHECK(at(doc, "a").scalar == text);
  CHECK(at(doc, "b").at == Position{2, 4});
}

TEST_CASE("a document of millions of values is refused") {
  std::string text = "[";
  text.reserve(5'000'000);
  for (int i = 0; i < 2'000'001; ++i) text += "0,";
  text += "0]";
  CHECK(error_of(text).find("more than 2000000 values") != std::string::npos);
}
