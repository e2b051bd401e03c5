#include "model/base/text.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace roofcast;

TEST_CASE("a screen gets no control characters and no bytes that are no UTF-8") {
  CHECK(printable("plain, \xE2\x82\xAC") == "plain, \xE2\x82\xAC");
  CHECK(printable("a\x1b[31mb") == "a\\x1b[31mb");
  CHECK(printable(std::string("\0\n\t\x7f", 4)) == "\\x00\\x0a\\x09\\x7f");
  CHECK(printable("\xC2\x9B"
                  "1m") == "\\xc2\\x9b1m");    // U+009B, which is ESC [
  CHECK(printable("\xC2\xA0") == "\xC2\xA0");  // U+00A0, the first behind C1
  CHECK(printable("\xFFz\xC3") == "\\xffz\\xc3");
}

TEST_CASE("a text is cut between characters") {
  CHECK(shortened("abcdef", 6) == "abcdef");
  CHECK(shortened("abcdefg", 6) == "abcdef...");
  CHECK(shortened("abcde\xC3\xA9z", 6) == "abcde...");
  CHECK(shortened("abcd\xC3\xA9z", 6) == "abcd\xC3\xA9...");
  CHECK(shortened("abc\xF0\x9F\x98\x80z", 6) == "abc...");
  CHECK(shortened("\xF0\x9F\x98\x80\xF0\x9F\x98\x80", 1) == "...");
}
