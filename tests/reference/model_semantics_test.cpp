// Models with random weights whose values follow other rules than the defaults: the engine against
// a plain decoder in double that rounds nowhere.

#include "model/reference/model_semantics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "model/operators/decode_step.hpp"
#include "model/reference/decode_engine.hpp"
#include "tests/reference/exact_decode.hpp"
#include "tests/reference/tiny_spec.hpp"
#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

struct Case {
  std::string rule;
  TinyModel model;
  ModelSemantics semantics;
  void (*change)(ArchitectureSpec& spec) = nullptr;
};

GqaShape& attention_of(ArchitectureSpec& spec) {
  return std::get<GroupedQueryAttention>(spec.mixers[0].kind).shape;
}
MoeFfn& experts_of(ArchitectureSpec& spec) { return std::get<MoeFfn>(spec.ffns[1].kind); }

constexpr TinyModel kDense = {.n_layers = 1, .n_heads = 4, .n_kv_heads = 2, .qk_norm = true};
constexpr TinyModel kExperts = {
    .n_layers = 2, .n_experts = 8, .n_experts_per_token = 2, .expert_dim = 32, .router_bias = true};

ModelSemantics with(void (*change)(ModelSemantics& semantics)) {
  ModelSemantics semantics;
  change(semantics);
  return semantics;
}

std::vector<Case> cases() {
  return {
      {"gate",
       kDense,
       {},
       [](ArchitectureSpec& spec) { attention_of(spec).output_gate = OutputGate::elementwise; }},
      {"gate and biases",
       {.n_layers = 1, .n_heads = 6, .n_kv_heads = 3, .qkv_bias = true},
       with([](ModelSemantics& s) { s.query_scale = 0.4F; }),
       [](ArchitectureSpec& spec) { attention_of(spec).output_gate = OutputGate::elementwise; }},
      {"half of the head turns", kDense, with([](ModelSemantics& s) { s.rotary.share = 0.5; })},
      {"nothing turns", kDense, with([](ModelSemantics& s) { s.rotary.share = 0.0; })},
      {"windows turn otherwise",
       {.n_layers = 2, .window = 5, .whole_every = 2},
       with([](ModelSemantics& s) {
         s.local_rotary = RotarySemantics{100.0, 0.5};
       })},
      {"norms, scales and softcap", kDense, with([](ModelSemantics& s) {
         s.norm_offset = 1.0F;
         s.norm_epsilon = 0.05F;
         s.embedding_scale = 5.5F;
         s.logit_softcap = 3.0F;
       })},
      {"squared relu", {.n_layers = 1, .gated = false}, with([](ModelSemantics& s) {
         s.activation = Activation::relu_squared;
       })},
      {"gated gelu", kDense, with([](ModelSemantics& s) { s.activation = Activation::gelu; })},
      {"expert biases and clamped SwiGLU", kExperts, with([](ModelSemantics& s) {
         s.activation = Activation::clamped_swiglu;
         s.swiglu.limit = 0.8F;
       }),
       [](ArchitectureSpec& spec) { experts_of(spec).expert_bias = true; }},
      {"sigmoid router with groups", kExperts, with([](ModelSemantics& s) {
         s.router = {.scoring = RouterSemantics::Scoring::sigmoid,
                     .scale = 2.5F,
                     .bias_only_chooses = true,
                     .groups = 4,
                     .groups_per_token = 2};
       })},
  };
}

ArchitectureSpec spec_of(const Case& c) {
  ArchitectureSpec spec = spec_of(c.model);
  if (c.change != nullptr) c.change(spec);
  finish_architecture(spec);
  return spec;
}

ExactRows exact_rows(const WeightSource& source) {
  return [source](const TensorRow& row) {
    std::vector<Bf16> bits(static_cast<std::size_t>(row.width));
    source(row, bits.data());
    Vector values;
    for (const Bf16 b : bits) values.push_back(static_cast<double>(bf16_to_float(b)));
    return values;
  };
}

/// Values of tiny models in bf16 are off by some steps of 2^-8 of the largest logit; every rule
/// below changes them by more, see the test after this one.
constexpr double kTolerance = 5e-2;

/// Largest difference of two decoders' logits, against the largest logit.
double error_of(const DecodeEngine& engine, const Vector& expected) {
  double largest = 0.0;
  double difference = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto logit = static_cast<double>(engine.logit(0, static_cast<std::int64_t>(i)));
    difference = std::max(difference, std::fabs(logit - expected[i]));
    largest = std::max(largest, std::fabs(expected[i]));
  }
  return difference / largest;
}

/// Decodes a sequence with both.
double error_of_sequence(const Case& c) {
  constexpr int kSteps = 20;
  DecodeEngine engine(spec_of(c), {.threads = 2, .seed = 7, .semantics = c.semantics});
  engine.start(1, 0, kSteps);
  ExactDecoder exact(spec_of(c), c.semantics, exact_rows(synthetic_weights(7)));
  double error = 0.0;
  for (int step = 0; step < kSteps; ++step) {
    const std::int64_t token = engine.tokens()[0];
    engine.step();
    error = std::max(error, error_of(engine, exact.step(token)));
  }
  return error;
}

/// Decodes sequences of one token each, but for those whose routing is in doubt: there rounding may
/// choose other experts.
double error_of_tokens(const Case& c, int* compared) {
  DecodeEngine engine(spec_of(c), {.threads = 2, .seed = 7, .semantics = c.semantics});
  engine.start(1, 0, 1);
  double error = 0.0;
  for (std::int64_t token = 0; token < c.model.vocab_size; ++token) {
    ExactDecoder exact(spec_of(c), c.semantics, exact_rows(synthetic_weights(7)));
    const Vector expected = exact.step(token);
    if (exact.least_margin() < 0.05) continue;
    engine.rewind();
    engine.tokens() = {token};
    engine.step();
    error = std::max(error, error_of(engine, expected));
    ++*compared;
  }
  return error;
}

TEST_CASE("the engine follows every rule of a model's values") {
  for (const Case& c : cases()) {
    CAPTURE(c.rule);
    if (c.model.n_experts == 0) {
      CHECK(error_of_sequence(c) <= kTolerance);
      continue;
    }
    int compared = 0;
    CHECK(error_of_tokens(c, &compared) <= kTolerance);
    CHECK(compared >= 10);
  }
}

TEST_CASE("each of these rules counts") {
  for (const Case& c : cases()) {
    CAPTURE(c.rule);
    if (c.change != nullptr && c.semantics.router == RouterSemantics{}) continue;
    const ExactRows rows = exact_rows(synthetic_weights(7));
    ExactDecoder by_rule(spec_of(c), c.semantics, rows);
    ExactDecoder by_default(spec_of(c), {}, rows);
    double difference = 0.0;
    double largest = 0.0;
    for (const std::int64_t token : {3, 5, 8, 13, 21, 34, 55}) {
      const Vector one = by_rule.step(token);
      const Vector other = by_default.step(token);
      for (std::size_t i = 0; i < one.size(); ++i) {
        difference = std::max(difference, std::fabs(one[i] - other[i]));
        largest = std::max(largest, std::fabs(one[i]));
      }
    }
    CHECK(difference > 1.5 * kTolerance * largest);
  }
}

TEST_CASE("their bytes are those of the model's operator list") {
  for (const Case& c : cases()) {
    CAPTURE(c.rule);
    const ArchitectureSpec spec = spec_of(c);
    for (const int threads : {1, 3}) {
      DecodeEngine engine(spec, {.threads = threads, .semantics = c.semantics});
      engine.start(3, 40, 1);
      engine.step();
      Traffic counted;
      for (const Traffic& t : engine.recorder().operator_bytes()) {
        counted.weights += t.weights;
        counted.kv_read += t.kv_read;
        counted.activations += t.activations;
      }
      const StepShape shape{.sequences = 3.0, .context = 40.0, .experts_hit = engine.experts_hit()};
      const Traffic model = total_work(decode_step(spec, shape)).bytes;
      CHECK(counted.weights.value == relative(model.weights.value).epsilon(1e-12));
      CHECK(counted.kv_read.value == model.kv_read.value);
      // The first norm of a step adds nothing to the residual: 2 of 4 vectors less.
      const double no_add = 2.0 * 3.0 * static_cast<double>(spec.hidden_dim) * sizeof(Bf16);
      if (threads == 1)
        CHECK(counted.activations.value ==
              relative(model.activations.value - no_add).epsilon(1e-12));
    }
  }
}

}  // namespace
}  // namespace roofcast
