#include "model/reference/mla_block.hpp"

#include <functional>
#include <string>

#include "model/base/error.hpp"
#include "tests/reference/compare_latent.hpp"

namespace roofcast {
namespace {

/// Fewer heads than a tile, a whole one, several; with and without a query's latent and rotation.
const LatentRun kRuns[] = {
    {{.model = {.n_layers = 2},
      .shape = {.n_heads = 2,
                .kv_lora_rank = 32,
                .qk_nope_head_dim = 16,
                .qk_rope_head_dim = 16,
                .v_head_dim = 16}},
     1,
     0,
     1},
    {{.model = {.n_layers = 2, .hidden_dim = 50, .tied = false},
      .shape = {.n_heads = 5,
                .q_lora_rank = 24,
                .kv_lora_rank = 64,
                .qk_nope_head_dim = 32,
                .qk_rope_head_dim = 16,
                .v_head_dim = 48}},
     3,
     70,
     2},
    {{.model = {.n_layers = 1, .post_norms = true},
      .shape = {.n_heads = 16,
                .kv_lora_rank = 96,
                .qk_nope_head_dim = 16,
                .qk_rope_head_dim = 0,
                .v_head_dim = 32}},
     1,
     131,
     3},
    {{.model = {.n_layers = 1},
      .shape = {.n_heads = 84,
                .q_lora_rank = 32,
                .kv_lora_rank = 32,
                .qk_nope_head_dim = 16,
                .qk_rope_head_dim = 32,
                .v_head_dim = 16}},
     2,
     64,
     3},
};

TEST_CASE("every instruction set runs absorbed latent attention as a naive decoder does") {
  for (const IsaLevel isa : supported_isas()) {
    for (const LatentRun& run : kRuns) {
      CAPTURE(isa_name(isa));
      CAPTURE(run.model.shape.n_heads);
      check_latent_run(run, isa, 3);
    }
  }
}

TEST_CASE("latent attention does not depend on the number of threads that share a sequence") {
  const LatentModel& m = kRuns[1].model;
  std::vector<double> first;
  for (const int threads : {1, 2, 3, 5, 8}) {
    DecodeEngine engine(spec_of(m), {.threads = threads, .seed = 7});
    engine.start(2, 200, 1);
    engine.step();
    const std::vector<double> logits = logits_of(engine, 1);
    if (first.empty()) first = logits;
    CHECK(distance(logits, first) <= latent_tolerance(m.model, first));
  }
}

TEST_CASE("absorbed latent attention moves the bytes of the operator list") {
  for (const LatentRun& run : kRuns) {
    for (const int threads : {1, 2, 3, 7})
      check_latent_bytes(run.model, run.batch, run.context, threads);
  }
}

constexpr MlaShape kSparseShape = {.n_heads = 4,
                                   .q_lora_rank = 32,
                                   .kv_lora_rank = 32,
                                   .qk_nope_head_dim = 16,
                                   .qk_rope_head_dim = 16,
                                   .v_head_dim = 16};

LatentModel sparse_model(std::int64_t top, int layers, bool shared_choice = false) {
  return {.model = {.n_layers = layers},
          .shape = kSparseShape,
          .form = LatentForm::sparse,
          .index_n_heads = 3,
          .index_head_dim = 32,
          .index_topk = top,
          .shared_choice = shared_choice};
}

TEST_CASE("sparse latent attention sees the tokens that its indexer scores best") {
  int hints = 0;
  int choices = 0;
  for (const IsaLevel isa : supported_isas()) {
    for (const int threads : {1, 3}) {
      CAPTURE(isa_name(isa));
      CAPTURE(threads);
      // Far fewer than there are, more, and a context that grows past the choice.
      hints += check_latent_run({sparse_model(5, 2), 2, 150, threads}, isa, 3);
      check_latent_run({sparse_model(1000, 2), 2, 30, threads}, isa, 2);
      hints += check_latent_run({sparse_model(8, 1), 1, 6, threads}, isa, 4);
      choices += 2 * 2 * 3 + 4;
    }
  }
  CHECK(4 * hints <= choices);
}

TEST_CASE("an indexer without a query latent, with more heads than a tile, and many chosen") {
  LatentModel m = sparse_model(100, 1);
  m.shape.q_lora_rank = 0;
  m.index_n_heads = 20;
  m.index_head_dim = 16;
  CHECK(check_latent_run({m, 1, 250, 2}, best_isa(), 3) <= 2);
}

TEST_CASE("layers may take the choice of an earlier one") {
  CHECK(check_latent_run({sparse_model(5, 3, true), 2, 90, 2}, best_isa(), 4) <= 4);
}

TEST_CASE("sparse latent attention moves the bytes of the operator list") {
  for (const int threads : {1, 2, 3}) {
    for (const std::int64_t context : {0, 4, 5, 6, 100}) {
      check_latent_bytes(sparse_model(5, 2), 2, context, threads);
      check_latent_bytes(sparse_model(5, 3, true), 2, context, threads);
    }
  }
}

/// The message with which the engine refuses a model; empty when it does not.
std::string refusal(LatentModel m, const std::function<void(ArchitectureSpec&)>& change = {}) {
  ArchitectureSpec spec = spec_of(m);
  if (change) change(spec);
  try {
    DecodeEngine engine(spec, {.threads = 1});
  } catch (const UnsupportedError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("latent attention that the engine cannot run is refused by name") {
  LatentModel gate = kRuns[0].model;
  gate.shape.output_gate = OutputGate::headwise;
  CHECK(refusal(gate).find("output gate") != std::string::npos);
  LatentModel rank = kRuns[0].model;
  rank.shape.kv_lora_rank = 48;
  CHECK(refusal(rank).find("multiple of 32") != std::string::npos);
  LatentModel head = kRuns[0].model;
  head.shape.v_head_dim = 24;
  CHECK(refusal(head).find("multiples of 16") != std::string::npos);
  LatentModel key = sparse_model(5, 1);
  key.index_head_dim = 24;
  CHECK(refusal(key).find("index keys") != std::string::npos);
  CHECK(refusal(sparse_model(5, 1), [](ArchitectureSpec& spec) {
          spec.formats[Component::indexer] = storage_of(*find_format("fp8"));
        }).find("indexer") != std::string::npos);
  CHECK(refusal(sparse_model(5, 2, true), [](ArchitectureSpec& spec) {
          spec.layers[0].mixer = 1;
        }).find("no earlier layer made") != std::string::npos);
  CHECK(refusal(kRuns[0].model).empty());
  CHECK(refusal(sparse_model(5, 2, true)).empty());
}

}  // namespace
}  // namespace roofcast
