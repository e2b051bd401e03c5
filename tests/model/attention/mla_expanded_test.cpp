#include "model/attention/mla_expanded.hpp"

#include <doctest/doctest.h>

#include "tests/relative.hpp"

using namespace roofcast;
using roofcast::test::relative;

namespace {

constexpr MlaShape kDeepSeekV3 = {.n_heads = 128,
                                  .q_lora_rank = 1536,
                                  .kv_lora_rank = 512,
                                  .qk_nope_head_dim = 128,
                                  .qk_rope_head_dim = 64,
                                  .v_head_dim = 128};

template <typename Kind>
StepWork work_of(const Kind& kind, const StepShape& step) {
  const Formats formats;
  OperatorList list;
  OperatorBuilder builder(7168.0, formats, step, list);
  builder.enter_layers(0, 1.0);
  kind.append_operators(builder);
  return total_work(list);
}

}  // namespace

TEST_CASE("an expanded latent cache reads full keys and values and the weights of MLA") {
  const ExpandedLatentAttention expanded{.shape = kDeepSeekV3};
  const MultiHeadLatentAttention absorbed{.shape = kDeepSeekV3};
  const StepShape step{.sequences = 2.0, .query_len = 1.0, .context = 1000.0};
  // 2 sequences x 1000 tokens x 128 heads x (192 + 128) x 2 B
  CHECK(work_of(expanded, step).bytes.kv_read.value == 2.0 * 1000 * 128 * 320 * 2);
  CHECK(work_of(expanded, step).bytes.kv_write.value == 2.0 * 128 * 320 * 2);
  CHECK(work_of(expanded, step).bytes.weights.value ==
        relative(work_of(absorbed, step).bytes.weights.value));
  CHECK(expanded.cache(10).k == 10.0 * 128 * 192);
  CHECK(expanded.cache(10).v == 10.0 * 128 * 128);
}

TEST_CASE("tensor parallelism divides an expanded cache by its heads, not a latent one") {
  const ExpandedLatentAttention expanded{.shape = kDeepSeekV3};
  StepShape step{.sequences = 1.0, .query_len = 1.0, .context = 1000.0, .tp = 1};
  const double whole = work_of(expanded, step).bytes.kv_read.value;
  step.tp = 8;
  CHECK(work_of(expanded, step).bytes.kv_read.value == whole / 8.0);
  CHECK(expanded.cache_shards(8).kv == 8.0);
  CHECK(expanded.cache_shards(1000).kv == 128.0);
}
