#include "sim/tensor_parallel.hpp"

#include <doctest/doctest.h>

#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/catalogue.hpp"

using namespace roofcast;

TEST_CASE("ranks have to divide query heads, and divide or multiply key-value heads") {
  // Llama 3.1 8B: 32 query heads, 8 KV heads.
  const ArchitectureSpec spec = read_architecture(find_architecture("llama-3.1-8b"));
  for (const int tp : {1, 2, 4, 8, 16, 32}) CHECK(tensor_parallel_problem(spec, tp).empty());
  CHECK(tensor_parallel_problem(spec, 3) ==
        "3 ranks do not divide the 32 query heads of llama-3.1-8b");
  CHECK(tensor_parallel_problem(spec, 64) ==
        "64 ranks do not divide the 32 query heads of llama-3.1-8b");
}

TEST_CASE("heads of a latent cache are query heads only") {
  const ArchitectureSpec spec = read_architecture(find_architecture("deepseek-v3"));
  const HeadCounts heads = head_counts(spec.mixers.front().kind);
  CHECK(heads.query == 128);
  CHECK(heads.kv == 0);
  CHECK(tensor_parallel_problem(spec, 128).empty());
}
