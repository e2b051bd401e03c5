#include "model/attention/attention.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

TEST_CASE("every kind of attention has a name of its own and says what it is") {
  using namespace roofcast;
  std::set<std::string> names;
  for_each_kind<Mixer>([&](auto kind) {
    using Kind = decltype(kind);
    CHECK(names.insert(std::string(Kind::kName)).second);
    CHECK(kind_name(Mixer{kind}) == Kind::kName);
    CHECK(Kind::kSummary.size() > 20);
  });
  CHECK(names.size() == std::variant_size_v<Mixer>);
}
