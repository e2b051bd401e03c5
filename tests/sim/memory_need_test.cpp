#include "sim/memory_need.hpp"

#include <doctest/doctest.h>

#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/catalogue.hpp"
#include "tests/relative.hpp"

using namespace roofcast;
using roofcast::test::relative;

namespace {

ArchitectureSpec shipped(const char* name) { return read_architecture(find_architecture(name)); }

/// What a rank holds beyond an even share of all weights.
double beyond_even_share(const char* name, int tp) {
  const ArchitectureSpec spec = shipped(name);
  return resident_bytes_per_rank(spec, tp) - weight_bytes(spec).resident.value / tp;
}

}  // namespace

TEST_CASE("one rank holds all weights") {
  CHECK(beyond_even_share("llama-3.1-8b", 1) == 0.0);
  CHECK(beyond_even_share("deepseek-v3", 1) == 0.0);
}

TEST_CASE("every rank holds all norms") {
  // Llama 3.1 8B: 2 x 32 + 1 norms of 4096 x 2 B = 532,480 B, of which an even share is a quarter
  CHECK(beyond_even_share("llama-3.1-8b", 4) == relative(0.75 * 532480.0));
}

TEST_CASE("more ranks than KV heads repeat K and V") {
  // Llama 3.1 405B: k and v have 126 x 2 x 1024 x 16384 x 2 B; 16 ranks hold an eighth each, not a
  // sixteenth. Norms: 2 x 126 + 1 of 16384 x 2 B, whole instead of a sixteenth.
  const double kv = 126.0 * 2.0 * 1024.0 * 16384.0 * 2.0;
  const double norms = 253.0 * 16384.0 * 2.0;
  CHECK(beyond_even_share("llama-3.1-405b", 16) ==
        relative(kv * (1.0 / 8.0 - 1.0 / 16.0) + norms * 15.0 / 16.0));
}

TEST_CASE("every rank holds MLA's down-projections and the routers") {
  // DeepSeek-V3: 61 x (1536 + 576) x 7168 of fp8 (with scales 1.00024 B each), and 58 routers of
  // 256 x 7168 x 2 B; norms and the routers' biases are 0.2 % of that.
  const double down = 61.0 * 2112.0 * 7168.0 * 131104.0 / 131072.0;
  const double routers = 58.0 * 256.0 * 7168.0 * 2.0;
  CHECK(beyond_even_share("deepseek-v3", 8) ==
        relative((down + routers) * 7.0 / 8.0).epsilon(0.005));
}

TEST_CASE("a device that is nine tenths full is tight, one beyond is too small") {
  const MemoryNeed need{.weights = 60.0, .kv = 25.0, .state = 4.0, .capacity = 100.0};
  CHECK(need.fits());
  CHECK_FALSE(need.tight());
  CHECK(MemoryNeed{.weights = 91.0, .capacity = 100.0}.tight());
  CHECK_FALSE(MemoryNeed{.weights = 101.0, .capacity = 100.0}.tight());
  CHECK_FALSE(MemoryNeed{.weights = 101.0, .capacity = 100.0}.fits());
}
