#include "sim/report/format_value.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace roofcast;

TEST_CASE("people read values with prefix and unit by kind") {
  CHECK(human_value(ValueKind::duration, 0.0049) == "4.9 ms");
  CHECK(human_value(ValueKind::byte_rate, 3.35e12) == "3.35 TB/s");
  CHECK(human_value(ValueKind::bytes, 16.06e9) == "16.06 GB");
  CHECK(human_value(ValueKind::flop_rate, 989.4e12) == "989.4 TFLOP/s");
  CHECK(human_value(ValueKind::ratio, 0.934) == "93.4 %");
  CHECK(human_value(ValueKind::signed_ratio, 0.05) == "+5.0 %");
  CHECK(human_value(ValueKind::intensity, 15.83) == "15.8 FLOP/B");
  CHECK(human_value(ValueKind::text, std::string("kv")) == "kv");
  CHECK(human_value(ValueKind::text, true) == "yes");
  CHECK(human_value(ValueKind::count, Cell{}).empty());
}

TEST_CASE("counts are grouped by thousands, token rates carry no prefix") {
  CHECK(human_value(ValueKind::count, 0.0) == "0");
  CHECK(human_value(ValueKind::count, 999.0) == "999");
  CHECK(human_value(ValueKind::count, 1000.0) == "1,000");
  CHECK(human_value(ValueKind::count, 8030261248.0) == "8,030,261,248");
  CHECK(human_value(ValueKind::count, -1234567.0) == "-1,234,567");
  CHECK(human_value(ValueKind::count, 57.4213) == "57.42");
  CHECK(human_value(ValueKind::token_rate, 204.13) == "204.1 tok/s");
  CHECK(human_value(ValueKind::token_rate, 12345.6) == "12,346 tok/s");
}

TEST_CASE("a number that is not finite never reaches a reader") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(human_value(ValueKind::duration, nan) == "-");
  CHECK(human_value(ValueKind::count, infinity) == "-");
  CHECK(plain_value(nan).empty());
  CHECK(plain_value(infinity).empty());
}

TEST_CASE("scripts read base units in the shortest form that reads back") {
  CHECK(plain_value(0.1) == "0.1");
  CHECK(plain_value(4096.0) == "4096");
  CHECK(std::stod(plain_value(1.0 / 3.0)) == 1.0 / 3.0);
}

TEST_CASE("CSV fields are quoted where RFC 4180 asks for it") {
  CHECK(csv_field("plain text") == "plain text");
  CHECK(csv_field("a,b") == "\"a,b\"");
  CHECK(csv_field("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(csv_field("two\nlines") == "\"two\nlines\"");
}

TEST_CASE("texts for people are printable and end somewhere, CSV is UTF-8") {
  CHECK(human_value(ValueKind::text, std::string("a\x1b[2Jb")) == "a\\x1b[2Jb");
  CHECK(human_value(ValueKind::text, std::string(500, 'a')) == std::string(500, 'a'));
  CHECK(human_value(ValueKind::text, std::string(9999, 'a')) == std::string(500, 'a') + "...");
  CHECK(csv_field("\xffz") == "?z");
}

TEST_CASE("display width counts characters, not bytes") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("\xc3\xa9\xe2\x80\xa6") == 2);  // e with acute, ellipsis
}
