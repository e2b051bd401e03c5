#include "model/reference/moe_block.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "model/base/error.hpp"
#include "tests/reference/compare_decoders.hpp"
#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

const Run kRuns[] = {
    {{.n_layers = 2, .n_experts = 8, .n_experts_per_token = 2, .expert_dim = 32}, 1, 3, 1},
    {{.n_layers = 3,
      .n_heads = 4,
      .n_kv_heads = 2,
      .qk_norm = true,
      .tied = false,
      .n_experts = 16,
      .n_experts_per_token = 4,
      .expert_dim = 24,
      .first_dense = 1,
      .n_shared_experts = 2,
      .shared_expert_dim = 20},
     4,
     17,
     2},
    {{.n_layers = 1,
      .hidden_dim = 50,
      .vocab_size = 101,
      .gated = false,
      .n_experts = 5,
      .n_experts_per_token = 3,
      .expert_dim = 22,
      .n_shared_experts = 1,
      .shared_expert_dim = 70,
      .router_bias = true},
     3,
     0,
     3},
    {{.n_layers = 2,
      .hidden_dim = 96,
      .vocab_size = 80,
      .n_experts = 33,
      .n_experts_per_token = 8,
      .expert_dim = 48,
      .n_shared_experts = 1,
      .shared_expert_dim = 48,
      .dense_dim = 36,
      .shared_gate = true},
     16,
     5,
     3},
    // One expert for all: every token of the batch in one product.
    {{.n_layers = 1, .n_experts = 1, .n_experts_per_token = 1, .expert_dim = 64}, 5, 2, 5},
};

TEST_CASE("every instruction set runs experts as a naive decoder in double does") {
  int clear_winners = 0;
  for (const IsaLevel isa : supported_isas()) {
    for (const Run& run : kRuns) {
      CAPTURE(isa_name(isa));
      CAPTURE(run.model.n_experts);
      CAPTURE(run.batch);
      clear_winners += check_run(run, isa, 4);
    }
  }
  // Otherwise the comparison of argmaxes would have compared nothing.
  CHECK(clear_winners > 10);
}

TEST_CASE("the bytes of experts are those of the distinct ones that were hit") {
  for (const Run& run : kRuns) {
    for (const std::int64_t batch : {std::int64_t{1}, std::int64_t{4}, std::int64_t{16}}) {
      for (const int threads : {1, 2, 3, 7}) {
        CAPTURE(run.model.n_experts);
        CAPTURE(batch);
        CAPTURE(threads);
        const Counted c = count_bytes(run.model, batch, run.context, threads);
        CHECK(c.engine.weights.value == relative(c.model.weights.value).epsilon(1e-12));
        CHECK(c.engine.kv_read.value == c.model.kv_read.value);
        const double no_add =
            2.0 * static_cast<double>(batch * run.model.hidden_dim) * sizeof(Bf16);
        CHECK(c.engine.activations.value <= threads * c.model.activations.value);
        if (threads == 1) CHECK(c.engine.activations.value == c.model.activations.value - no_add);
      }
    }
  }
}

/// A model whose experts are as many as those of large models, and little else.
constexpr TinyModel kManyExperts = {.n_layers = 4,
                                    .hidden_dim = 256,
                                    .vocab_size = 512,
                                    .n_experts = 128,
                                    .n_experts_per_token = 8,
                                    .expert_dim = 16};

TEST_CASE("one token hits exactly its experts, and steps of one point hit the same ones") {
  DecodeEngine engine(spec_of(kManyExperts), {.threads = 2});
  engine.start(1, 16, 1);
  engine.step();
  CHECK(engine.experts_hit() == 8.0);
  engine.start(16, 16, 1);
  engine.step();
  const double hit = engine.experts_hit();
  for (int repeat = 0; repeat < 3; ++repeat) {
    engine.rewind();
    engine.step();
    CHECK(engine.experts_hit() == hit);
  }
}

TEST_CASE("synthetic weights route nearly uniformly") {
  DecodeEngine engine(spec_of(kManyExperts), {.threads = 2});
  for (const std::int64_t batch : {4, 16, 64}) {
    engine.start(batch, 64, 1);
    engine.step();
    // 128 (1 - (15/16)^B): 29.1, 82.4 and 125.9. Four layers of draws scatter by a few per cent.
    const double expected = expected_distinct_experts(128.0, 8.0, static_cast<double>(batch));
    CAPTURE(batch);
    CHECK(engine.experts_hit() == relative(expected).epsilon(0.1));
  }
}

TEST_CASE("skewed routing hits fewer experts, and the same ones again") {
  double last = 128.0;
  for (const double skew : {0.0, 1.0, 2.0}) {
    DecodeEngine engine(spec_of(kManyExperts), {.threads = 2, .routing_skew = skew});
    engine.start(16, 16, 1);
    engine.step();
    const double hit = engine.experts_hit();
    CAPTURE(skew);
    CHECK(hit < 0.85 * last);
    CHECK(hit >= 8.0);
    engine.rewind();
    engine.step();
    CHECK(engine.experts_hit() == hit);
    last = hit;
  }
}

TEST_CASE("the list takes the number of experts that routing hit, and expects one without") {
  const ArchitectureSpec spec = spec_of(kManyExperts);
  const auto experts_of = [&](double hit) {
    for (const Operator& op : decode_step(spec, {.sequences = 16.0, .experts_hit = hit}))
      if (op.kind == OperatorKind::moe) return op;
    return Operator{};
  };
  CHECK(experts_of(70.5).shape.experts_hit == 70.5);
  // Three matrices of 256 x 16 in bf16.
  CHECK(experts_of(70.5).bytes.weights.value == 70.5 * 3 * 256 * 16 * 2);
  CHECK(experts_of(0.0).shape.experts_hit == expected_distinct_experts(128.0, 8.0, 16.0));
  CHECK(experts_of(70.5).flops.value == experts_of(0.0).flops.value);
}

/// The message with which the engine refuses a mixture of experts; empty when it does not.
std::string refusal(const std::function<void(ArchitectureSpec&, MoeFfn&)>& change) {
  ArchitectureSpec spec = spec_of(kRuns[0].model);
  change(spec, std::get<MoeFfn>(spec.ffns[1].kind));
  finish_architecture(spec);
  try {
    DecodeEngine engine(spec, {.threads = 1});
  } catch (const UnsupportedError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("experts that the engine cannot run are refused by name") {
  const auto refused = [](const char* part, auto change) {
    CAPTURE(part);
    CHECK(refusal(change).find(part) != std::string::npos);
  };
  refused("latent", [](ArchitectureSpec&, MoeFfn& f) { f.latent_dim = 16; });
  refused("odd width", [](ArchitectureSpec&, MoeFfn& f) { f.expert_dim = 33; });
  refused("more than all", [](ArchitectureSpec&, MoeFfn& f) { f.n_experts_per_token = 9; });
  refused("routed_experts in mxfp4", [](ArchitectureSpec& spec, MoeFfn&) {
    spec.formats[Component::routed_experts] = storage_of(*find_format("mxfp4"));
  });
  CHECK(refusal([](ArchitectureSpec&, MoeFfn&) {}).empty());
}

}  // namespace
}  // namespace roofcast
