#include "model/reference/decode_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "model/base/error.hpp"
#include "model/operators/decode_step.hpp"
#include "tests/reference/cpu/random_values.hpp"
#include "tests/reference/tiny_spec.hpp"
#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

const KvCache& cache_of(const DecodeEngine& engine, int layer) {
  return std::visit([](const auto& block) -> const KvCache& { return block.cache(); },
                    engine.mixer(static_cast<std::size_t>(layer)));
}

/// The cached vector of all heads of one sequence at `token`; `pick` reads one element.
template <typename Pick>
std::vector<double> cached(const TinyModel& m, std::int64_t sequence, Pick pick) {
  std::vector<double> out;
  for (std::int64_t h = 0; h < m.n_kv_heads; ++h) {
    for (std::int64_t d = 0; d < m.head_dim; ++d)
      out.push_back(static_cast<double>(pick(sequence * m.n_kv_heads + h, d)));
  }
  return out;
}

std::vector<double> cached_key(const DecodeEngine& engine, const TinyModel& m, int layer,
                               std::int64_t sequence, std::int64_t token) {
  return cached(m, sequence, [&](std::int64_t item, std::int64_t d) {
    return cache_of(engine, layer).key_at(item, token, d);
  });
}

std::vector<double> cached_value(const DecodeEngine& engine, const TinyModel& m, int layer,
                                 std::int64_t sequence, std::int64_t token) {
  return cached(m, sequence, [&](std::int64_t item, std::int64_t d) {
    return cache_of(engine, layer).value_at(item, token, d);
  });
}

double largest(const std::vector<double>& values) {
  double top = 0.0;
  for (const double x : values) top = std::max(top, std::fabs(x));
  return top;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double top = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) top = std::max(top, std::fabs(a[i] - b[i]));
  return top;
}

/// Both decoders round at the same places, so they differ only where sums in fp32 and double fall
/// on different sides of a tie, or a softmax weight was rounded. Such a flip is one bf16 step,
/// twice epsilon of the value; each of the two blocks of a layer, and the end, may add one.
double tolerance(const TinyModel& m, const std::vector<double>& exact) {
  return 2.0 * kBf16Epsilon * static_cast<double>(2 * m.n_layers + 1) * largest(exact);
}

struct Run {
  TinyModel model;
  std::int64_t batch;
  std::int64_t context;
  int threads;
};

/// Decoders of all sequences with the engine's synthetic cache copied in.
std::vector<NaiveDecoder> naive_twins(const DecodeEngine& engine, const Run& run) {
  std::vector<NaiveDecoder> twins;
  for (std::int64_t s = 0; s < run.batch; ++s) {
    NaiveDecoder& twin = twins.emplace_back(run.model, synthetic_weights(7));
    twin.set_position(run.context);
    for (int layer = 0; layer < run.model.n_layers; ++layer) {
      for (std::int64_t t = 0; t < run.context; ++t)
        twin.append_cached(layer, cached_key(engine, run.model, layer, s, t),
                           cached_value(engine, run.model, layer, s, t));
    }
  }
  return twins;
}

std::vector<double> logits_of(const DecodeEngine& engine, std::int64_t sequence) {
  std::vector<double> logits;
  for (std::int64_t i = 0; i < engine.spec().vocab_size; ++i)
    logits.push_back(static_cast<double>(engine.logit(sequence, i)));
  return logits;
}

/// Whether no admissible error of two logits can change which is the largest.
bool has_clear_winner(const TinyModel& m, std::vector<double> exact) {
  const double margin = 2.0 * tolerance(m, exact);
  std::sort(exact.rbegin(), exact.rend());
  return exact[0] - exact[1] > margin;
}

void check_cache(const DecodeEngine& engine, const Run& run, std::int64_t sequence,
                 const NaiveDecoder& twin) {
  for (int layer = 0; layer < run.model.n_layers; ++layer) {
    const auto& keys = twin.keys(layer);
    const auto& values = twin.values(layer);
    const auto newest = static_cast<std::int64_t>(keys.size()) - 1;
    const auto key = cached_key(engine, run.model, layer, sequence, newest);
    const auto value = cached_value(engine, run.model, layer, sequence, newest);
    CHECK(distance(key, keys.back()) <= tolerance(run.model, keys.back()));
    CHECK(distance(value, values.back()) <= tolerance(run.model, values.back()));
    // What was there before must be untouched.
    if (newest > 0)
      CHECK(distance(cached_key(engine, run.model, layer, sequence, newest - 1),
                     keys[static_cast<std::size_t>(newest) - 1]) <=
            tolerance(run.model, keys.back()));
  }
}

/// Steps both decoders on the engine's tokens; returns how many argmaxes were beyond doubt.
int check_run(const Run& run, IsaLevel isa, int steps) {
  DecodeEngine engine(spec_of(run.model), {.threads = run.threads, .isa = isa, .seed = 7});
  engine.start(run.batch, run.context, steps);
  std::vector<NaiveDecoder> twins = naive_twins(engine, run);
  int clear_winners = 0;
  for (int step = 0; step < steps; ++step) {
    const std::vector<std::int64_t> tokens = engine.tokens();
    engine.step();
    for (std::int64_t s = 0; s < run.batch; ++s) {
      const auto at = static_cast<std::size_t>(s);
      const std::vector<double> exact = twins[at].step(tokens[at]);
      CHECK(distance(logits_of(engine, s), exact) <= tolerance(run.model, exact));
      if (has_clear_winner(run.model, exact)) {
        const auto best = std::max_element(exact.begin(), exact.end()) - exact.begin();
        CHECK(engine.tokens()[at] == best);
        ++clear_winners;
      }
      check_cache(engine, run, s, twins[at]);
    }
  }
  return clear_winners;
}

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

/// Sums of what was counted by category, and of the model's list at the same shape.
struct Counted {
  Traffic engine, model;
};

Counted count_bytes(const TinyModel& model, std::int64_t batch, std::int64_t context, int threads) {
  const ArchitectureSpec spec = spec_of(model);
  DecodeEngine engine(spec, {.threads = threads});
  engine.start(batch, context, 1);
  engine.step();
  Counted counted;
  for (const Traffic& t : engine.recorder().operator_bytes()) {
    counted.engine.weights += t.weights;
    counted.engine.kv_read += t.kv_read;
    counted.engine.kv_write += t.kv_write;
    counted.engine.activations += t.activations;
  }
  const StepShape shape{.sequences = static_cast<double>(batch),
                        .context = static_cast<double>(context)};
  counted.model = total_work(decode_step(spec, shape)).bytes;
  return counted;
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
  ArchitectureSpec moe = spec_of({});
  moe.ffns[0].kind = MoeFfn{};
  CHECK(refusal(moe).find("\"moe\"") != std::string::npos);
  ArchitectureSpec mla = spec_of({});
  mla.mixers[0].kind = MultiHeadLatentAttention{};
  CHECK(refusal(mla).find("\"mla\"") != std::string::npos);
  ArchitectureSpec fp8 = spec_of({});
  fp8.formats[Component::attention] = storage_of(*find_format("fp8"));
  CHECK(refusal(fp8).find("fp8_e4m3") != std::string::npos);
  ArchitectureSpec sinks = spec_of({});
  std::get<GroupedQueryAttention>(sinks.mixers[0].kind).shape.sinks = true;
  CHECK(refusal(sinks).find("sinks") != std::string::npos);
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
