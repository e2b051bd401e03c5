#include "model/reference/decode_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "model/base/error.hpp"
#include "tests/reference/compare_decoders.hpp"
#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

const Run kRuns[] = {
    {{.n_layers = 2}, 1, 0, 1},
    {{.n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .qk_norm = true, .tied = false}, 2, 0, 2},
    {{.n_layers = 1,
      .hidden_dim = 50,
      .n_heads = 3,
      .n_kv_heads = 3,
      .head_dim = 32,
      .ffn_dim = 70,
      .vocab_size = 101,
      .qkv_bias = true,
      .o_bias = true,
      .ffn_bias = true,
      .gated = false},
     3,
     5,
     3},
    {{.n_layers = 2,
      .n_heads = 8,
      .n_kv_heads = 1,
      .qk_norm = true,
      .qkv_bias = true,
      .ffn_bias = true,
      .tied = false},
     1,
     130,
     3},
    {{.n_layers = 1,
      .hidden_dim = 96,
      .n_heads = 6,
      .n_kv_heads = 2,
      .head_dim = 48,
      .ffn_dim = 64,
      .vocab_size = 80},
     5,
     33,
     2},
    // Layers of one part each, and one of both.
    {{.n_layers = 5,
      .mixers = {TinyMixer::none, TinyMixer::attention, TinyMixer::attention},
      .has_ffns = {true, false, true}},
     2,
     9,
     2},
    // The first layer has no part at all, so that the embedding goes through unchanged.
    {{.n_layers = 2, .mixers = {TinyMixer::none, TinyMixer::attention}, .has_ffns = {false, true}},
     1,
     3,
     1},
};

TEST_CASE("every instruction set decodes as a naive decoder in double does") {
  int clear_winners = 0;
  for (const IsaLevel isa : supported_isas()) {
    for (const Run& run : kRuns) {
      CAPTURE(isa_name(isa));
      CAPTURE(run.model.hidden_dim);
      CAPTURE(run.batch);
      clear_winners += check_run(run, isa, 4);
    }
  }
  // Otherwise the comparison of argmaxes would have compared nothing.
  CHECK(clear_winners > 10);
}

TEST_CASE("a layer without a part lacks the norm after it too") {
  check_run({{.n_layers = 3,
              .post_norms = true,
              .mixers = {TinyMixer::none, TinyMixer::attention, TinyMixer::attention},
              .has_ffns = {true, false, true}},
             1,
             2,
             1},
            best_isa(), 3);
}

TEST_CASE("the result does not depend on the number of threads, even where they share a head") {
  const TinyModel& model = kRuns[3].model;
  std::vector<double> first;
  for (const int threads : {1, 2, 3, 5}) {
    DecodeEngine engine(spec_of(model), {.threads = threads, .seed = 7});
    engine.start(2, 200, 1);
    engine.step();
    const std::vector<double> logits = logits_of(engine, 1);
    if (first.empty()) first = logits;
    CHECK(distance(logits, first) <= tolerance(model, first));
  }
}

TEST_CASE("the bytes that kernels touch are those of the model's operator list") {
  for (const Run& run : kRuns) {
    for (const int threads : {1, 2, 3}) {
      CAPTURE(threads);
      const Counted c = count_bytes(run.model, run.batch, run.context, threads);
      CHECK(c.engine.weights.value == c.model.weights.value);
      CHECK(c.engine.kv_read.value == c.model.kv_read.value);
      CHECK(c.engine.kv_write.value == c.model.kv_write.value);
      // Each thread reads the inputs of its rows: at most `threads` times the list's activations.
      // The first norm of a step adds nothing to the residual: 2 of 4 vectors less.
      const double no_add =
          2.0 * static_cast<double>(run.batch * run.model.hidden_dim) * sizeof(Bf16);
      CHECK(c.engine.activations.value >= c.model.activations.value - no_add);
      CHECK(c.engine.activations.value <= threads * c.model.activations.value);
      if (threads == 1) CHECK(c.engine.activations.value == c.model.activations.value - no_add);
    }
  }
}

TEST_CASE("operator times add up to the step") {
  DecodeEngine engine(spec_of(kRuns[1].model), {.threads = 2});
  engine.start(1, 16, 1);
  engine.step();
  double sum = 0.0;
  for (const double seconds : engine.recorder().operator_seconds()) {
    CHECK(seconds > 0.0);
    sum += seconds;
  }
  CHECK(sum == relative(engine.recorder().step_seconds()).epsilon(1e-6));
}

TEST_CASE("a number of layers scales depth, and a step past the capacity is refused") {
  DecodeEngine engine(spec_of(kRuns[0].model), {.threads = 1, .layers = 1});
  CHECK(engine.spec().layers.size() == 1);
  engine.start(1, 4, 2);
  engine.step();
  engine.step();
  CHECK_THROWS_AS(engine.step(), std::invalid_argument);
  engine.rewind();
  CHECK(engine.position() == 4);
  CHECK_THROWS_AS(engine.start(65, 4, 2), std::invalid_argument);
  CHECK_THROWS_AS(engine.start(1, -1, 2), std::invalid_argument);
}

/// The message with which the engine refuses a spec; empty when it does not.
std::string refusal(const ArchitectureSpec& spec) {
  try {
    DecodeEngine engine(spec, {.threads = 1});
  } catch (const UnsupportedError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("what the engine cannot run is refused by name") {
  ArchitectureSpec compressed = spec_of({});
  compressed.mixers[0].kind = CompressedAttention{};
  CHECK(refusal(compressed).find("\"compressed\"") != std::string::npos);
  ArchitectureSpec q4_k = spec_of({});
  q4_k.formats[Component::attention] = storage_of(*find_format("q4_K"));
  CHECK(refusal(q4_k).find("attention in q4_K") != std::string::npos);
  ArchitectureSpec mixed = spec_of({});
  mixed.formats[Component::dense_ffn] = {*find_format("q8_0"), 7.25};
  CHECK(refusal(mixed).find("mixture of formats") != std::string::npos);
  ArchitectureSpec two_heads = spec_of({});
  two_heads.formats[Component::embedding] = storage_of(*find_format("q8_0"));
  CHECK(refusal(two_heads).find("tied lm_head") != std::string::npos);
  ArchitectureSpec wide = spec_of({.ffn_dim = 48});
  wide.formats[Component::dense_ffn] = storage_of(*find_format("q4_0"));
  CHECK(refusal(wide).find("q4_0 in rows of 48") != std::string::npos);
  ArchitectureSpec gate = spec_of({});
  std::get<GroupedQueryAttention>(gate.mixers[0].kind).shape.output_gate = OutputGate::headwise;
  CHECK(refusal(gate).find("output gate") != std::string::npos);
  ArchitectureSpec narrow = spec_of({.head_dim = 16});
  std::get<GroupedQueryAttention>(narrow.mixers[0].kind).shape.head_dim = 24;
  CHECK(refusal(narrow).find("multiple of 16") != std::string::npos);
  ArchitectureSpec layer_norm = spec_of({});
  layer_norm.norm = NormKind::layer;
  CHECK(refusal(layer_norm).find("layer norm") != std::string::npos);
  CHECK(refusal(spec_of({})).empty());
}

}  // namespace
}  // namespace roofcast
