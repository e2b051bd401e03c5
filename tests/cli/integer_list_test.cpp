#include "sim/cli/integer_list.hpp"

#include <doctest/doctest.h>

using namespace roofcast;
using List = std::vector<std::int64_t>;

namespace {

List parse(std::string_view text) {
  std::string problem;
  List list = parse_integer_list(text, 1, 1'000'000, problem);
  INFO(problem);
  CHECK(problem.empty());
  return list;
}

std::string problem_of(std::string_view text) {
  std::string problem;
  CHECK(parse_integer_list(text, 1, 1'000'000, problem).empty());
  return problem;
}

}  // namespace

TEST_CASE("whole numbers take decimal and binary suffixes, never confused") {
  CHECK(parse_scaled_integer("64") == 64);
  CHECK(parse_scaled_integer("128k") == 128000);
  CHECK(parse_scaled_integer("128Ki") == 131072);
  CHECK(parse_scaled_integer("2M") == 2000000);
  CHECK(parse_scaled_integer("2Mi") == 2097152);
  CHECK(parse_scaled_integer("-5") == -5);
  for (const char* bad :
       {"", "k", "1.5", "1e3", "0x10", "4 k", "1ki", "9999999999999999999", "5000000000000000M"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_scaled_integer(bad));
  }
}

TEST_CASE("ranges double, multiply or add, and end at the last value that is not above their end") {
  CHECK(parse("1..64") == List{1, 2, 4, 8, 16, 32, 64});
  CHECK(parse("1..100:x3") == List{1, 3, 9, 27, 81});
  CHECK(parse("5..20:+5") == List{5, 10, 15, 20});
  CHECK(parse("5..19:+5") == List{5, 10, 15});
  CHECK(parse("7..7") == List{7});
  CHECK(parse("1Ki..8Ki") == List{1024, 2048, 4096, 8192});
  CHECK(parse("1,2,4..16,3") == List{1, 2, 4, 8, 16, 3});
}

TEST_CASE("a range may start at 0 if it adds") {
  std::string problem;
  CHECK(parse_integer_list("0..4:+2", 0, 100, problem) == List{0, 2, 4});
  CHECK(parse_integer_list("0..4", 0, 100, problem).empty());
  CHECK(problem.find("needs a step") != std::string::npos);
}

TEST_CASE("what is no list is refused with the item") {
  CHECK(problem_of("0") == "expected whole numbers from 1 to 1000000, got \"0\"");
  CHECK(problem_of("1,,2") == "expected whole numbers from 1 to 1000000, got \"\"");
  CHECK(problem_of("8..1") ==
        "expected whole numbers from 1 to 1000000, got \"8..1\": a range has to rise");
  for (const char* bad : {"", "1..", "..4", "1..4:", "1..4:2", "1..4:x1", "1..4:+0", "1..4:x",
                          "a..b", "1..2M", "0..4:+1", "1...4"}) {
    CAPTURE(bad);
    CHECK_FALSE(problem_of(bad).empty());
  }
}

TEST_CASE("an axis without end is refused before it takes memory") {
  std::string problem;
  CHECK(parse_integer_list("1..1000000000:+1", 1, 1'000'000'000, problem).empty());
  CHECK(problem.find("more than 10000000 values") != std::string::npos);
}
