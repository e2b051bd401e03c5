#include <doctest/doctest.h>

#include <string>

#include "model/base/error.hpp"
#include "model/reference/decode_engine.hpp"
#include "tests/reference/compare_decoders.hpp"

// Layers whose memory is a state of fixed size, alone and beside attention.

namespace roofcast {
namespace {

using enum TinyMixer;

const Run kRuns[] = {
    {{.n_layers = 2, .mixers = {gated_delta}}, 1, 0, 1},
    // Two value heads per key head, beside attention, as in Qwen3-Next.
    {{.n_layers = 4,
      .mixers = {gated_delta, gated_delta, gated_delta, attention},
      .state = {.key_heads = 3, .value_heads = 6, .key_dim = 12, .value_dim = 32}},
     3,
     7,
     2},
    {{.n_layers = 1,
      .mixers = {gated_delta},
      .state = {.key_heads = 2, .value_heads = 2, .conv_kernel = 2, .bf16_state = true}},
     2,
     0,
     5},
    {{.n_layers = 2, .mixers = {mamba2}, .state = {.conv_bias = true}}, 1, 0, 1},
    // Layers of one part each, as in Nemotron-H.
    {{.n_layers = 6,
      .gated = false,
      .mixers = {mamba2, none, mamba2, attention, none, mamba2},
      .has_ffns = {false, true, false, false, true, false},
      .state =
          {.key_heads = 2, .value_heads = 6, .key_dim = 16, .value_dim = 48, .conv_bias = true}},
     4,
     5,
     3},
    {{.n_layers = 1,
      .mixers = {mamba2},
      .state = {.key_heads = 4, .value_heads = 4, .conv_kernel = 3, .bf16_state = true}},
     2,
     0,
     2},
    {{.n_layers = 4,
      .mixers = {kda, kda, kda, attention},
      .state = {.key_heads = 3, .value_heads = 3, .key_dim = 16, .value_dim = 16}},
     2,
     4,
     2},
    {{.n_layers = 1,
      .mixers = {kda},
      .state = {.key_heads = 2,
                .value_heads = 2,
                .key_dim = 48,
                .value_dim = 48,
                .conv_kernel = 3,
                .full_rank_gate = true}},
     3,
     0,
     1},
    {{.n_layers = 2,
      .mixers = {lightning, attention},
      .state = {.key_heads = 4, .value_heads = 4, .key_dim = 16, .value_dim = 16}},
     3,
     5,
     3},
    {{.n_layers = 2, .mixers = {mamba1}, .has_ffns = {false}}, 1, 0, 1},
    {{.n_layers = 2,
      .mixers = {mamba1, attention},
      .state = {.value_heads = 5, .key_dim = 6, .conv_bias = true, .dt_rank = 6}},
     3,
     2,
     3},
    {{.n_layers = 3, .mixers = {short_conv, attention}, .state = {.conv_kernel = 3}}, 2, 6, 2},
    {{.n_layers = 1,
      .hidden_dim = 70,
      .mixers = {short_conv},
      .state = {.conv_kernel = 5, .conv_bias = true}},
     3,
     0,
     3},
};

TEST_CASE("state layers decode as a naive decoder in double does, and so do their states") {
  int clear_winners = 0;
  for (const IsaLevel isa : supported_isas()) {
    for (const Run& run : kRuns) {
      CAPTURE(isa_name(isa));
      CAPTURE(&run - kRuns);
      clear_winners += check_run(run, isa, 5);
    }
  }
  // Otherwise the comparison of argmaxes would have compared nothing.
  CHECK(clear_winners > 10);
}

TEST_CASE("the threads that share states and channels do not change the result") {
  for (const Run& run : kRuns) {
    for (const int threads : {1, 2, 3, 7}) {
      CAPTURE(&run - kRuns);
      CAPTURE(threads);
      CHECK(check_run({run.model, 3, run.context, threads}, best_isa(), 2) >= 0);
    }
  }
}

TEST_CASE("states are counted as read and written once, as the model's operator list has it") {
  for (const Run& run : kRuns) {
    for (const int threads : {1, 2, 3}) {
      CAPTURE(&run - kRuns);
      CAPTURE(threads);
      const Counted c = count_bytes(run.model, run.batch, run.context, threads);
      CHECK(c.engine.state.value > 0.0);
      CHECK(c.engine.state.value == c.model.state.value);
      CHECK(c.engine.weights.value == c.model.weights.value);
      CHECK(c.engine.kv_read.value == c.model.kv_read.value);
      const double no_add =
          2.0 * static_cast<double>(run.batch * run.model.hidden_dim) * sizeof(Bf16);
      CHECK(c.engine.activations.value <= threads * c.model.activations.value);
      if (threads == 1) CHECK(c.engine.activations.value == c.model.activations.value - no_add);
    }
  }
}

TEST_CASE("every operator of a state layer is counted by itself as the list has it") {
  for (const Run& run : kRuns) {
    const ArchitectureSpec spec = spec_of(run.model);
    DecodeEngine engine(spec, {.threads = 1});
    engine.start(run.batch, run.context, 1);
    engine.step();
    const OperatorList list = decode_step(spec, {.sequences = static_cast<double>(run.batch),
                                                 .context = static_cast<double>(run.context)});
    const std::vector<Traffic> counted = engine.recorder().operator_bytes();
    for (std::size_t i = 0; i < list.size(); ++i) {
      CAPTURE(list[i].name);
      CHECK(counted[i].state.value == list[i].count * list[i].bytes.state.value);
      CHECK(counted[i].weights.value == list[i].count * list[i].bytes.weights.value);
      if (list[i].name.find("norm") == std::string_view::npos ||
          list[i].name.find("gated") != std::string_view::npos)
        CHECK(counted[i].activations.value == list[i].count * list[i].bytes.activations.value);
    }
  }
}

/// Tokens and logits of a few steps.
std::vector<double> some_steps(DecodeEngine& engine, int steps) {
  std::vector<double> all;
  for (int i = 0; i < steps; ++i) {
    engine.step();
    const std::vector<double> logits = logits_of(engine, 0);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

TEST_CASE("start fills states anew; rewinding keeps what they became") {
  const Run& run = kRuns[1];
  DecodeEngine engine(spec_of(run.model), {.threads = 2, .seed = 7});
  engine.start(2, 3, 4);
  const std::vector<double> first = some_steps(engine, 3);
  engine.rewind();
  CHECK(engine.position() == 3);
  CHECK(some_steps(engine, 3) != first);
  engine.start(2, 3, 4);
  CHECK(some_steps(engine, 3) == first);
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

TEST_CASE("states that no kernel steps are refused by name") {
  const auto with = [](TinyMixer kind, const TinyState& state) {
    return refusal(spec_of({.mixers = {kind}, .state = state}));
  };
  CHECK(with(mamba2, {}).empty());
  CHECK(with(mamba2, {.value_dim = 24}).find("8 x 24") != std::string::npos);
  CHECK(with(gated_delta, {.key_dim = 6}).find("6 x 16") != std::string::npos);
  CHECK(with(gated_delta, {.key_dim = 1028}).find("1028 x 16") != std::string::npos);
  CHECK(with(gated_delta, {.key_heads = 2, .value_heads = 3}).find("key heads") !=
        std::string::npos);
  CHECK(with(mamba2, {.key_heads = 2, .value_heads = 3}).find("groups") != std::string::npos);
  CHECK(with(short_conv, {.conv_kernel = 0}).find("taps") != std::string::npos);
  ArchitectureSpec fp8 = spec_of({.mixers = {mamba2}});
  fp8.formats[Component::state] = storage_of(*find_format("fp8"));
  CHECK(refusal(fp8).find("recurrent state in fp8_e4m3") != std::string::npos);
  CHECK(with(lightning, {.value_dim = 24}).find("24 x 24") != std::string::npos);
  CHECK(with(kda, {.value_dim = 40}).find("40 x 40") != std::string::npos);
  CHECK(with(mamba1, {.value_heads = 1, .value_dim = 24}).find("inner_dim") != std::string::npos);
  CHECK(with(mamba1, {.dt_rank = 3}).find("dt_rank") != std::string::npos);
  CHECK(with(mamba1, {.bf16_state = true}).find("in bf16") != std::string::npos);
  ArchitectureSpec norms = spec_of({.mixers = {mamba1}});
  std::get<Mamba1>(norms.mixers.back().kind).inner_norms = true;
  CHECK(refusal(norms).find("inner_norms") != std::string::npos);
  ArchitectureSpec wide = spec_of({.mixers = {mamba2}});
  wide.formats[Component::conv_state] = storage_of(*find_format("fp32"));
  CHECK(refusal(wide).find("convolution state in fp32") != std::string::npos);
}

}  // namespace
}  // namespace roofcast
