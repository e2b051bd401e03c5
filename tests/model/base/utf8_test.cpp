#include "model/base/utf8.hpp"

#include <doctest/doctest.h>

using namespace roofcast;

TEST_CASE("characters of one to four bytes are told from what is none") {
  CHECK(utf8_length("a") == 1);
  CHECK(utf8_length("\u00e9") == 2);
  CHECK(utf8_length("\u20ac") == 3);
  CHECK(utf8_length("\U0001f600") == 4);
  // A lone continuation, an overlong "/", a surrogate, and beyond U+10FFFF (RFC 3629, section 3).
  for (const char* none :
       {"\x80", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"})
    CHECK(utf8_length(none) == 0);
}

TEST_CASE("bytes that are no text become question marks, and text stays") {
  CHECK(valid_utf8("q\xff.json") == "q?.json");
  CHECK(valid_utf8("caf\u00e9 \U0001f600") == "caf\u00e9 \U0001f600");
  CHECK(valid_utf8("a\xe2\x82") == "a??");
  CHECK(valid_utf8("") == "");
}
