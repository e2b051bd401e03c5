#include "sim/report/row_writer.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace roofcast;

namespace {

std::string rows(OutputFormat format) {
  const RowWriter writer({{"name", "name"}, {"tpot_s", "TPOT", ValueKind::duration}}, format,
                         {6, 0});
  const RowCell plain[] = {{0.0, "a"}, {0.0125, {}}};
  const RowCell odd[] = {{0.0, "b,\"c\""}, {std::numeric_limits<double>::quiet_NaN(), {}}};
  std::string out;
  writer.begin(out);
  writer.row(plain, out);
  writer.row(odd, out);
  writer.trim_last(out);
  writer.end(out);
  return out;
}

}  // namespace

TEST_CASE("rows are streamed in every format") {
  CHECK(rows(OutputFormat::csv) == "name,tpot_s\na,0.0125\n\"b,\"\"c\"\"\",\n");
  CHECK(rows(OutputFormat::json) ==
        "{\"schema\":1,\"points\":[\n"
        "{\"name\":\"a\",\"tpot_s\":0.0125},\n"
        "{\"name\":\"b,\\\"c\\\"\",\"tpot_s\":null}\n"
        "]}\n");
  CHECK(rows(OutputFormat::table) ==
        "name           TPOT\n"
        "a           12.5 ms\n"
        "b,\"c\"\n");
  CHECK(rows(OutputFormat::markdown) ==
        "| name | TPOT |\n|---|---:|\n| a | 12.5 ms |\n| b,\"c\" |  |\n");
}

TEST_CASE("hostile texts break no format") {
  const auto text = [](OutputFormat format) {
    const RowWriter writer({{"name", "name"}}, format, {4});
    const RowCell cell[] = {{0.0, "a|\x1b\xff"}};
    std::string out;
    writer.row(cell, out);
    return out;
  };
  CHECK(text(OutputFormat::csv) == "a|\x1b?\n");
  CHECK(text(OutputFormat::json) == "{\"name\":\"a|\\u001b\xEF\xBF\xBD\"},\n");
  CHECK(text(OutputFormat::table) == "a|\\x1b\\xff\n");
  CHECK(text(OutputFormat::markdown) == "| a\\|\\x1b\\xff |\n");
}

TEST_CASE("numbers keep all their digits, in as few characters as that takes") {
  const auto text = [](double value) {
    std::string out;
    append_number(value, out);
    return out;
  };
  CHECK(text(0.0) == "0");
  CHECK(text(131072.0) == "131072");
  CHECK(text(16597524480.0) == "16597524480");
  CHECK(text(0.00464415404) == "0.00464415404");
  CHECK(text(1.0 / 3.0) == "0.3333333333333333");
  CHECK(text(215.32446836) == "215.32446836");
}
