#include "model/attention/no_mixer.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"

TEST_CASE("a layer without attention has no parameters, no cache and no operators") {
  using namespace roofcast;
  const NoMixer none;
  CHECK(none.parameters(4096.0).total() == 0.0);
  CHECK(none.cache(1e6).k + none.cache(1e6).v + none.cache(1e6).state == 0.0);
  CHECK(layer_operators(none, 4096.0, {.context = 1000.0}).empty());
}
