#include "microbench/shared/random_slabs.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace roofcast {
namespace {

TEST_CASE("windows follow each other and start over at the end of the slab") {
  ThreadPool pool({-1, -1});
  const RandomSlabs slabs(pool, 1 << 16);
  const std::byte* const start = slabs.data(1);
  CHECK(slabs.window(1, 1000, 0) == start);
  CHECK(slabs.window(1, 1000, 1) == start + 1024);
  // 65536 / 1024 = 64 windows.
  CHECK(slabs.window(1, 1000, 63) == start + 63 * 1024);
  CHECK(slabs.window(1, 1000, 64) == start);
  CHECK(slabs.window(1, 1 << 16, 7) == start);
}

TEST_CASE("slabs hold different bf16 values of magnitude 0.5 to 1") {
  ThreadPool pool({-1, -1});
  const RandomSlabs slabs(pool, 4096);
  int equal = 0;
  for (int i = 0; i < 2048; ++i) {
    const float a = bf16_to_float(reinterpret_cast<const Bf16*>(slabs.data(0))[i]);
    const float b = bf16_to_float(reinterpret_cast<const Bf16*>(slabs.data(1))[i]);
    CHECK(std::fabs(a) >= 0.5F);
    CHECK(std::fabs(a) < 1.0F);
    equal += a == b ? 1 : 0;
  }
  // 256 different values: 8 of 2048 pairs agree by chance.
  CHECK(equal < 40);
}

TEST_CASE("cold slabs exceed four last-level caches together") {
  CHECK(cold_slab_bytes(2, 256 << 20) == std::size_t{512} << 20);
  CHECK(cold_slab_bytes(2, 0) == std::size_t{64} << 20);
  CHECK(cold_slab_bytes(3, 100'000'001) * 3 >= 4 * 100'000'001ULL);
}

}  // namespace
}  // namespace roofcast
