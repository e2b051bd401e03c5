#include "model/base/spec_reader.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>

using namespace roofcast;

namespace {

constexpr QuantityRange kRates{1e6, 1e18};

/// Parses `text`, lets `use` read it, and gives the error's text.
std::string error_of(std::string_view text, const std::function<void(SpecReader&)>& use) {
  const Document document = parse_yaml(text, "x.yaml");
  try {
    SpecReader reader(document.root, document.file);
    use(reader);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("typed values are read as they stand") {
  const Document doc = parse_yaml(
      "{n: 8, big: 671e9, whole: 8.0, neg: -3, x: 0.5, yes: true, no: false, s: text,\n"
      " f: bf16, q: 3.35 TB/s, c: two, z: null, one: {k: 1}, list: [{k: 1}, {k: 2}]}",
      "x.yaml");
  SpecReader r(doc.root, doc.file);
  CHECK(r.integer("n") == 8);
  CHECK(r.integer("big", 1, std::int64_t{1} << 50) == 671000000000);
  CHECK(r.integer("whole") == 8);
  CHECK(r.integer("neg", -5, 0) == -3);
  CHECK(r.number("x", 0.0, 1.0) == 0.5);
  CHECK(r.boolean("yes"));
  CHECK_FALSE(r.boolean("no"));
  CHECK(r.string("s") == "text");
  CHECK(r.format("f").name() == "bf16");
  CHECK(r.quantity("q", {"B/s"}, kRates) == 3.35e12);
  CHECK(r.choice("c", {"one", "two", "three"}) == 1);
  CHECK_FALSE(r.has("z"));
  CHECK_FALSE(r.optional_string("z").has_value());
  CHECK(r.has("n"));
  CHECK_FALSE(r.has("absent"));
  CHECK(r.child("one").integer("k") == 1);
  CHECK(r.children("list")[1].integer("k") == 2);
  CHECK(r.keys().size() == 14);
  CHECK_NOTHROW(r.reject_unknown_keys());
}

TEST_CASE("optional values are empty when absent or null, and still checked when present") {
  const Document doc = parse_yaml("{z: null, n: 8, t: x}", "x.yaml");
  SpecReader r(doc.root, doc.file);
  CHECK_FALSE(r.optional_string("absent").has_value());
  CHECK_FALSE(r.optional_integer("z").has_value());
  CHECK(*r.optional_integer("n") == 8);
  CHECK(r.integer_or("absent", 5) == 5);
  CHECK(r.integer_or("n", 5) == 8);
  CHECK(r.boolean_or("absent", true));
  CHECK_FALSE(r.optional_number("absent", 0, 1).has_value());
  CHECK_FALSE(r.optional_quantity("absent", {"B"}, kRates).has_value());
  CHECK_FALSE(r.optional_format("absent").has_value());
  CHECK_FALSE(r.optional_child("absent").has_value());
  CHECK_THROWS_AS(r.optional_integer("t"), SpecError);
  CHECK_THROWS_AS(r.optional_child("n"), SpecError);
}

TEST_CASE("a wrong whole number is named with its place, range and text") {
  const auto read = [](SpecReader& r) { r.integer("n", 1, 64); };
  CHECK(error_of("n: thirty", read) ==
        "x.yaml:1:4: n: expected a whole number from 1 to 64, got \"thirty\"");
  CHECK(error_of("n: 0", read) == "x.yaml:1:4: n: expected a whole number from 1 to 64, got \"0\"");
  CHECK(error_of("n: 65", read).find("got \"65\"") != std::string::npos);
  CHECK(error_of("n: 010", read).find("got \"010\"") != std::string::npos);
  CHECK(error_of("n: 0x8", read).find("got \"0x8\"") != std::string::npos);
  CHECK(error_of("n: 1.5", read).find("got \"1.5\"") != std::string::npos);
  CHECK(error_of("n: '8'", read).find("got \"8\"") != std::string::npos);
  CHECK(error_of("n: 1e300", read).find("got \"1e300\"") != std::string::npos);
  CHECK(error_of("n: 99999999999999999999", read).find("whole number") != std::string::npos);
  CHECK(error_of("n: [1]", read) ==
        "x.yaml:1:4: n: expected a whole number from 1 to 64, got a list");
  CHECK(error_of("n: {a: 1}", read) ==
        "x.yaml:1:4: n: expected a whole number from 1 to 64, got a map");
  CHECK(error_of("n:", read).find("got nothing") != std::string::npos);
}

TEST_CASE("a wrong number, truth value or text is named the same way") {
  CHECK(error_of("x: 2", [](SpecReader& r) { r.number("x", 0.0, 1.0); }) ==
        "x.yaml:1:4: x: expected a number from 0 to 1, got \"2\"");
  CHECK(error_of("x: .inf", [](SpecReader& r) { r.number("x", 0.0, 1.0); }) ==
        "x.yaml:1:4: x: expected a number from 0 to 1, got \".inf\"");
  CHECK(error_of("b: yes", [](SpecReader& r) { r.boolean("b"); }) ==
        "x.yaml:1:4: b: expected true or false, got \"yes\"");
  CHECK(error_of("b: 'true'", [](SpecReader& r) { r.boolean("b"); }) ==
        "x.yaml:1:4: b: expected true or false, got \"true\"");
  CHECK(error_of("s: ''", [](SpecReader& r) { r.string("s"); }) ==
        "x.yaml:1:4: s: expected a text, got \"\"");
  CHECK(error_of("s: [a]", [](SpecReader& r) { r.string("s"); }) ==
        "x.yaml:1:4: s: expected a text, got a list");
}

TEST_CASE("a wrong quantity shows a right one") {
  const auto read = [](SpecReader& r) { r.quantity("q", {"B/s"}, kRates); };
  const std::string expected = "expected a quantity in B/s such as \"1.5 GB/s\", got ";
  CHECK(error_of("q: 3.35", read) == "x.yaml:1:4: q: " + expected + "\"3.35\"");
  CHECK(error_of("q: 3.35 TB", read) == "x.yaml:1:4: q: " + expected + "\"3.35 TB\"");
  CHECK(error_of("q: [1]", read) == "x.yaml:1:4: q: " + expected + "a list");
  CHECK(error_of("q: -1 GB/s", read) ==
        "x.yaml:1:4: q: expected a quantity from 1 MB/s to 1 EB/s, got \"-1 GB/s\"");
  // Both ends count.
  CHECK(error_of("q: 1 MB/s", read) == "no error");
  CHECK(error_of("q: 1 EB/s", read) == "no error");
  CHECK(error_of("q: 999.9 kB/s", read).find("got \"999.9 kB/s\"") != std::string::npos);
  CHECK(error_of("q: 1e-300 B/s", read).find("got \"1e-300 B/s\"") != std::string::npos);
  // There are no thousandths of bytes: "m" is a slip for "M".
  CHECK(error_of("q: 3.35 mB/s", read) == "x.yaml:1:4: q: " + expected + "\"3.35 mB/s\"");
  const auto either = [](SpecReader& r) { r.quantity("q", {"FLOP/s", "OP/s"}, kRates); };
  CHECK(error_of("q: 1 TOP/s", either) == "no error");
  CHECK(error_of("q: 1 TB/s", either) ==
        "x.yaml:1:4: q: expected a quantity in FLOP/s or OP/s such as \"1.5 GFLOP/s\", got "
        "\"1 TB/s\"");
}

TEST_CASE("a wrong choice or format names the near one") {
  CHECK(error_of("c: twp", [](SpecReader& r) {
          r.choice("c", {"one", "two"});
        }) == "x.yaml:1:4: c: expected one of one, two, got \"twp\", did you mean \"two\"?");
  CHECK(error_of("f: bf61", [](SpecReader& r) { r.format("f"); }) ==
        "x.yaml:1:4: f: expected a number format, got \"bf61\", did you mean \"bf16\"?");
}

TEST_CASE("a missing key is reported at its map, a misspelt one at itself") {
  const auto read = [](SpecReader& r) { r.child("m").integer("n_heads"); };
  CHECK(error_of("m: {a: 1}", read) == "x.yaml:1:4: m.n_heads: missing, expected this key");
  CHECK(error_of("m:\n  n_head: 1", read) ==
        "x.yaml:2:11: m.n_head: unknown key, did you mean \"n_heads\"?");
}

TEST_CASE("keys that nobody asked for are refused, with the near one") {
  const auto read = [](SpecReader& r) {
    r.integer("n_heads");
    r.optional_integer("head_dim");
    r.reject_unknown_keys();
  };
  CHECK(error_of("n_heads: 1\nhed_dim: 2", read) ==
        "x.yaml:2:10: hed_dim: unknown key, did you mean \"head_dim\"?");
  CHECK(error_of("n_heads: 1\nzzzzzzzz: 2", read) == "x.yaml:2:11: zzzzzzzz: unknown key");
  CHECK(error_of("n_heads: 1\nhead_dim: 2", read) == "no error");
}

TEST_CASE("lists and maps are asked for by kind, and items are named by number") {
  CHECK(error_of("l: 3", [](SpecReader& r) { r.children("l"); }) ==
        "x.yaml:1:4: l: expected a list, got \"3\"");
  CHECK(error_of("l: [{k: 1}, 2]", [](SpecReader& r) { r.children("l"); }) ==
        "x.yaml:1:13: l.1: expected a map, got \"2\"");
  CHECK(error_of("m: 3", [](SpecReader& r) { r.child("m"); }) ==
        "x.yaml:1:4: m: expected a map, got \"3\"");
  CHECK(error_of("l: [{k: x}]", [](SpecReader& r) { r.children("l")[0].integer("k", 1, 2); }) ==
        "x.yaml:1:9: l.0.k: expected a whole number from 1 to 2, got \"x\"");
}

TEST_CASE("a document that is no map at all is refused") {
  CHECK(error_of("", [](SpecReader&) {}) == "x.yaml: expected a map, got nothing");
  CHECK(error_of("[1]", [](SpecReader&) {}) == "x.yaml:1:1: expected a map, got a list");
  CHECK(error_of("text", [](SpecReader&) {}) == "x.yaml:1:1: expected a map, got \"text\"");
}

TEST_CASE("a reader can blame a key for a reason of its own") {
  CHECK(error_of("a: 1\nb: 2", [](SpecReader& r) { r.fail("b", "expected less than a"); }) ==
        "x.yaml:2:4: b: expected less than a");
  CHECK(error_of("a: 1", [](SpecReader& r) { r.fail("b", "expected this too"); }) ==
        "x.yaml:1:1: b: expected this too");
}

TEST_CASE("keys of a large map are found in time proportional to its size") {
  // 200,000 keys: a walk for each would compare 2 * 10^10 names and run into the test's time limit.
  Document document;
  document.root.kind = Value::Kind::map;
  const int n = 200000;
  for (int i = 0; i < n; ++i)
    document.root.members.emplace_back(
        "k" + std::to_string(i), Value{.kind = Value::Kind::scalar, .scalar = std::to_string(i)});
  SpecReader reader(document.root, "x.yaml");
  std::int64_t sum = 0;
  for (const std::string& key : reader.keys()) sum += reader.integer(key, 0, n);
  CHECK(sum == std::int64_t{n} * (n - 1) / 2);
  reader.reject_unknown_keys();
  CHECK_FALSE(reader.has("k200000"));
}
