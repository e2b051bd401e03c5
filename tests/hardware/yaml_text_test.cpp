#include "hardware/src/yaml_text.hpp"

#include <doctest/doctest.h>

#include "model/base/prefix.hpp"

namespace roofcast {
namespace {

TEST_CASE("quantities are written with the largest prefix that fits") {
  CHECK(exact_quantity(31.2e9, "B/s") == "31.2 GB/s");
  CHECK(exact_quantity(3.35e12, "B/s") == "3.35 TB/s");
  CHECK(exact_quantity(2.1e-6, "s") == "2.1 us");
  CHECK(exact_quantity(1.0, "s") == "1 s");
  CHECK(exact_quantity(0.0, "s") == "0 s");
}

TEST_CASE("written quantities read back to the very same number") {
  for (const double value : {1.0 / 3.0, 31.234567890123456e9, 150109880320.0, 2.1e-6, 7.77e-10,
                             1e-12, 123456789.123, 9.999999999999e14}) {
    CAPTURE(value);
    CHECK(parse_quantity(exact_quantity(value, "B/s"), "B/s") == value);
  }
}

TEST_CASE("quoting escapes what would end or break the text") {
  CHECK(yaml_quoted("a \"b\" \\ c") == R"("a \"b\" \\ c")");
  CHECK(yaml_quoted("line\nbreak") == R"("line\x0abreak")");
}

}  // namespace
}  // namespace roofcast
