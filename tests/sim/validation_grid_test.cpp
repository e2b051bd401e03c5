#include "sim/validation_grid.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "sim/compare_step.hpp"
#include "tests/relative.hpp"

using namespace roofcast;
using roofcast::test::relative;

TEST_CASE("every case of the grid is a model with steps, under a name of its own") {
  std::set<std::string> names;
  for (const GridCase& row : validation_grid()) {
    CAPTURE(row.name);
    CHECK(names.insert(std::string(row.name)).second);
    const ArchitectureSpec spec = grid_spec(row);
    CHECK(spec.name == row.name);
    CHECK_FALSE(row.points.empty());
    // More than the last-level caches of most CPUs hold, and no more than a laptop has.
    const GridMemory memory = grid_memory(spec, row.points);
    CHECK(memory.weights > 150e6);
    CHECK(memory.total() < 6e9);
  }
}

TEST_CASE("the grid has sixty steps and more, from batch 1 to 16 and from 128 to 16 Ki tokens") {
  std::size_t steps = 0;
  std::set<std::int64_t> batches;
  std::set<std::int64_t> contexts;
  std::set<std::string> kinds;
  for (const GridCase& row : validation_grid()) {
    steps += row.points.size();
    kinds.insert(kinds_text(grid_spec(row)));
    for (const GridPoint& point : row.points) {
      batches.insert(point.batch);
      contexts.insert(point.context);
    }
  }
  CHECK(steps >= 60);
  CHECK(*batches.begin() == 1);
  CHECK(*batches.rbegin() == 16);
  CHECK(*contexts.begin() == 128);
  CHECK(*contexts.rbegin() == 16384);
  for (const char* kind : {"gqa", "sliding_window", "chunked", "gqa+moe", "mla", "mla_sparse",
                           "gated_delta+gqa", "mamba2+none+gqa"})
    CHECK(kinds.contains(kind));
}

TEST_CASE("the memory of a case is its weights and its largest cache") {
  const GridCase row{"tiny",
                     R"(
hidden_dim: 64
vocab_size: 100
tied_embeddings: true
attention:
  full: {kind: gqa, n_heads: 2, n_kv_heads: 1, head_dim: 32}
ffn:
  dense: {kind: dense, ffn_dim: 128}
layers:
  - {count: 3, attention: full, ffn: dense}
)",
                     {}};
  const ArchitectureSpec spec = grid_spec(row);
  const GridPoint points[] = {{4, 99}, {1, 299}};
  const GridMemory memory = grid_memory(spec, points);
  // Per layer q, o 64 x 64, k and v 32 x 64, 3 x 128 x 64, two norms of 64; 100 x 64 and a norm.
  const double elements = 3 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 128 * 64 + 2 * 64) + 100 * 64 + 64;
  CHECK(memory.weights == relative(2 * elements));
  // 4 sequences x 100 tokens x 3 layers x K and V of 32, in bf16; 1 x 300 tokens are fewer.
  CHECK(memory.cache == relative(4 * 100 * 3 * 2 * 32 * 2));
}
