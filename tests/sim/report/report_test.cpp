#include "sim/report/report.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <sstream>

using namespace roofcast;

namespace {

Report sample_report() {
  Report report;
  report.blocks = {Section{.title = "Decode",
                           .metrics = {{"decode/tpot_s", "TPOT", ValueKind::duration, 0.005, "why",
                                        std::pair(0.004, 0.006)},
                                       {"decode/batch", "batch", ValueKind::count, 8.0, "",
                                        std::nullopt, Audience::scripts}}},
                   Section{.title = "Shares",
                           .layout = Layout::bars,
                           .metrics = {{"decode/shares/kv", "kv", ValueKind::ratio, 0.5}}},
                   Table{.tag = "rows",
                         .title = "Rows",
                         .columns = {{"name", "name"}, {"bytes/kv", "KV", ValueKind::bytes}},
                         .rows = {{std::string("a|b"), 1000.0}, {std::string("c,d"), Cell{}}}},
                   Note{"a note"}};
  return report;
}

}  // namespace

TEST_CASE("a range's tags stand before the unit") {
  CHECK(range_tag("decode/tpot_s", "low") == "decode/tpot_low_s");
  CHECK(range_tag("rate", "high") == "rate_high");
}

TEST_CASE("JSON nests by tag, keeps order, and starts with the schema") {
  // Written by hand from the tags above.
  CHECK(write_json(sample_report()) == R"({
  "schema": 1,
  "decode": {
    "tpot_s": 0.005,
    "tpot_low_s": 0.004,
    "tpot_high_s": 0.006,
    "batch": 8,
    "shares": {
      "kv": 0.5
    }
  },
  "rows": [
    {
      "name": "a|b",
      "bytes": {
        "kv": 1000
      }
    },
    {
      "name": "c,d",
      "bytes": {
        "kv": null
      }
    }
  ]
}
)");
}

TEST_CASE("JSON holds neither NaN nor infinity, and bytes that are no UTF-8 are replaced") {
  Report report;
  report.blocks = {
      Section{.metrics = {{"a", "a", ValueKind::count, std::numeric_limits<double>::quiet_NaN()},
                          {"b", "b", ValueKind::count, std::numeric_limits<double>::infinity()},
                          {"c", "c", ValueKind::text, std::string("\xff")}}}};
  CHECK(write_json(report) ==
        "{\n  \"schema\": 1,\n  \"a\": null,\n  \"b\": null,\n  \"c\": "
        "\"\xef\xbf\xbd\"\n}\n");
}

TEST_CASE("CSV is one row of all figures, or the table that the report names") {
  Report report = sample_report();
  CHECK(write_csv(report) ==
        "decode.tpot_s,decode.tpot_low_s,decode.tpot_high_s,decode.batch,decode.shares.kv\n"
        "0.005,0.004,0.006,8,0.5\n");
  report.csv_table = "rows";
  CHECK(write_csv(report) == "name,bytes.kv\na|b,1000\n\"c,d\",\n");
}

TEST_CASE("a screen shows what is for everyone, aligned, with ranges and bars") {
  CHECK(write_text(sample_report(), {}) ==
        "Decode\n"
        "  TPOT  5 ms  (4 ms .. 6 ms)  why\n"
        "\n"
        "Shares\n"
        "  kv   50.0 % ###############\n"
        "\n"
        "Rows\n"
        "  name    KV\n"
        "  a|b   1 kB\n"
        "  c,d\n"
        "\n"
        "a note\n");
}

TEST_CASE("a figure in people's words is left to them, one for scripts to those") {
  Report report;
  report.blocks = {Section{
      .metrics = {{.tag = "free", .name = "free", .value = -5.0, .audience = Audience::scripts},
                  {.tag = "short",
                   .name = "short of",
                   .kind = ValueKind::count,
                   .value = 5.0,
                   .audience = Audience::people}}}};
  CHECK(write_text(report, {}) == "  short of  5\n");
  CHECK(write_markdown(report).find("| short of | 5 |") != std::string::npos);
  CHECK(write_markdown(report).find("free") == std::string::npos);
  CHECK(write_json(report) == "{\n  \"schema\": 1,\n  \"free\": -5\n}\n");
  CHECK(write_csv(report) == "free\n-5\n");
}

TEST_CASE("color changes nothing but headings") {
  const std::string colored = write_text(sample_report(), {.color = true});
  CHECK(colored.find("\x1b[1mDecode\x1b[0m\n") == 0);
}

TEST_CASE("Markdown escapes what would end a cell") {
  const std::string text = write_markdown(sample_report());
  CHECK(text.find("| a\\|b | 1 kB |") != std::string::npos);
  CHECK(text.find("|---|---:|") != std::string::npos);
  CHECK(text.find("| TPOT | 5 ms | 4 ms .. 6 ms | why |") != std::string::npos);
}
