#include "model/base/prefix.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/relative.hpp"

using namespace roofcast;
using roofcast::test::relative;

namespace {

struct Row {
  std::string symbol;
  double factor;
};

/// SI prefixes (BIPM brochure, table 7) and binary ones (IEC 80000-13).
const std::array<Row, 14> kExpected = {{{"Ki", 1024.0},
                                        {"Mi", 1048576.0},
                                        {"Gi", 1073741824.0},
                                        {"Ti", 1099511627776.0},
                                        {"Pi", 1125899906842624.0},
                                        {"n", 1e-9},
                                        {"u", 1e-6},
                                        {"m", 1e-3},
                                        {"k", 1e3},
                                        {"M", 1e6},
                                        {"G", 1e9},
                                        {"T", 1e12},
                                        {"P", 1e15},
                                        {"E", 1e18}}};

}  // namespace

TEST_CASE("the table has every prefix once, with its factor") {
  REQUIRE(kPrefixes.size() == kExpected.size());
  for (const Row& row : kExpected) {
    CAPTURE(row.symbol);
    int found = 0;
    for (const Prefix& prefix : kPrefixes)
      if (prefix.symbol == row.symbol) {
        ++found;
        CHECK(prefix.factor == row.factor);
      }
    CHECK(found == 1);
  }
}

TEST_CASE("every prefix is parsed, with and without a blank before the unit") {
  for (const Row& row : kExpected) {
    CAPTURE(row.symbol);
    if (row.factor < 1.0) {
      CHECK(*parse_quantity("2.5 " + row.symbol + "s", "s") == relative(2.5 * row.factor));
      continue;
    }
    const auto spaced = parse_quantity("2.5 " + row.symbol + "B/s", "B/s");
    const auto tight = parse_quantity("2.5" + row.symbol + "B", "B");
    REQUIRE(spaced.has_value());
    REQUIRE(tight.has_value());
    CHECK(*spaced == relative(2.5 * row.factor).epsilon(1e-15));
    CHECK(*tight == *spaced);
  }
}

TEST_CASE("every decimal prefix is printed, and what is printed parses back") {
  for (const Row& row : kExpected) {
    CAPTURE(row.symbol);
    if (row.symbol.ends_with("i")) {
      CHECK(format_binary_bytes(2.5 * row.factor) == "2.5 " + row.symbol + "B");
      continue;
    }
    const std::string text = format_si(2.5 * row.factor, "s");
    CHECK(text == "2.5 " + row.symbol + "s");
    CHECK(*parse_quantity(text, "s") == relative(2.5 * row.factor).epsilon(1e-15));
  }
}

TEST_CASE("G and Gi differ by 7.4 percent and are never confused") {
  // 2^30 / 10^9 = 1.073741824
  CHECK(*parse_quantity("80 GB", "B") == 80e9);
  CHECK(*parse_quantity("80 GiB", "B") == 85899345920.0);
  CHECK(format_si(80e9, "B") == "80 GB");
  CHECK(format_binary_bytes(80e9) == "74.51 GiB");
  CHECK(format_binary_bytes(85899345920.0) == "80 GiB");
}

TEST_CASE("bytes and operations have no prefix below one, neither read nor printed") {
  for (const char* unit : {"B", "B/s", "FLOP", "FLOP/s", "OP/s"})
    for (const char* prefix : {"m", "u", "n", "p"}) {
      CAPTURE(unit);
      CHECK_FALSE(parse_quantity(std::string("3.35 ") + prefix + unit, unit).has_value());
    }
  CHECK(format_si(0.25, "B") == "0.25 B");
  CHECK(*parse_quantity("0.25 B", "B") == 0.25);
}

TEST_CASE("quantities as data sheets write them") {
  CHECK(*parse_quantity("4.8 TB/s", "B/s") == 4.8e12);
  CHECK(*parse_quantity("4.8TB/s", "B/s") == 4.8e12);
  CHECK(*parse_quantity("  3.35   TB/s ", "B/s") == 3.35e12);
  CHECK(*parse_quantity("989.4 TFLOP/s", "FLOP/s") == relative(989.4e12));
  CHECK(*parse_quantity("1980 MHz", "Hz") == 1.98e9);
  CHECK(*parse_quantity("700 W", "W") == 700.0);
  CHECK(*parse_quantity("0.5 us", "s") == relative(5e-7));
  CHECK(*parse_quantity("1e3 B", "B") == 1000.0);
  CHECK(*parse_quantity("1 EB", "B") == 1e18);
  CHECK(*parse_quantity("-2 GB", "B") == -2e9);
  CHECK(*parse_quantity("7", "") == 7.0);
}

TEST_CASE("what is no quantity of the unit is refused") {
  for (const char* text :
       {"",          " ",          "B/s",        "TB/s",      "4.8",       "4.8 TB",
        "4.8 tB/s",  "4.8 Tb/s",   "4.8 KB/s",   "4.8 kiB/s", "4.8 T B/s", "4.8 TTB/s",
        "4,8 TB/s",  "4.8 TB/s/s", "4.8 TB/s x", "0x10 GB/s", "inf B/s",   "nan B/s",
        "1e400 B/s", "1e300 EB/s", "--4 GB/s",   "+4 GB/s",   "four GB/s", "4.8 Gi"})
    CHECK_MESSAGE(!parse_quantity(text, "B/s").has_value(), text);
  CHECK_FALSE(parse_quantity("5 G", "").has_value());
  CHECK_FALSE(parse_quantity("1 mB", "b").has_value());
}

TEST_CASE("a number fills its text whole, in decimal") {
  CHECK(*parse_number("12") == 12.0);
  CHECK(*parse_number("-0.5e-3") == -0.5e-3);
  CHECK(*parse_number("671e9") == 671e9);
  for (const char* text :
       {"", " 1", "1 ", "0x1p3", "inf", "-inf", "nan", "1e999", "1,5", "1.5x", "1_000", "+1", "."})
    CHECK_MESSAGE(!parse_number(text).has_value(), text);
}

TEST_CASE("printing keeps four digits and carries into the next prefix") {
  CHECK(format_si(3.35e12, "B/s") == "3.35 TB/s");
  CHECK(format_si(999.94, "B") == "999.9 B");
  CHECK(format_si(999.96, "B") == "1 kB");
  CHECK(format_si(999960.0, "B") == "1 MB");
  CHECK(format_si(0.0, "s") == "0 s");
  CHECK(format_si(1.0, "s") == "1 s");
  CHECK(format_si(0.0125, "s") == "12.5 ms");
  CHECK(format_si(2.5e-7, "s") == "250 ns");
  CHECK(format_si(-4.2e9, "B") == "-4.2 GB");
  CHECK(format_si(123456.0, "tok/s") == "123.5 ktok/s");
  CHECK(format_binary_bytes(0.0) == "0 B");
  CHECK(format_binary_bytes(512.0) == "512 B");
  CHECK(format_binary_bytes(85019000000.0) == "79.18 GiB");
}

TEST_CASE("printing never fails, whatever the number") {
  CHECK(!format_si(std::numeric_limits<double>::infinity(), "B").empty());
  CHECK(!format_si(std::numeric_limits<double>::quiet_NaN(), "B").empty());
  CHECK(!format_si(1e300, "B").empty());
  CHECK(!format_binary_bytes(-1.0).empty());
}
