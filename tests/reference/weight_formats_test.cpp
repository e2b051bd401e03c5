#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tests/reference/compare_decoders.hpp"

// Whole decode steps with matrices in every format, against a naive decoder that stores matrices
// and codes inputs by formulas of its own.
namespace roofcast {
namespace {

using Vector = std::vector<double>;

/// Formats of a model's matrices, as the spec and the naive decoder name them.
struct Formats4 {
  std::string_view attention, dense, experts, head;
};

std::string_view format_of(const Formats4& f, Tensor tensor) {
  switch (tensor) {
    case Tensor::embedding:
    case Tensor::lm_head:
      return f.head;
    case Tensor::up:
    case Tensor::gate:
    case Tensor::down:
      return f.dense;
    case Tensor::expert_up:
    case Tensor::expert_gate:
    case Tensor::expert_down:
      return f.experts;
    case Tensor::q:
    case Tensor::k:
    case Tensor::v:
    case Tensor::attn_out:
      return f.attention;
    default:
      return "bf16";
  }
}

/// Nearest value with `bits` significant bits, at least 2^least apart; ties to even.
double round_to(double x, int bits, int least) {
  if (x == 0.0) return 0.0;
  const int step = std::max(std::ilogb(x) + 1 - bits, least);
  return std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
}

/// Values as multiples of one scale per `group`, the largest magnitude over `most`.
Vector as_multiples(Vector values, std::size_t group, double most, bool half_scale) {
  for (std::size_t first = 0; first < values.size(); first += group) {
    double largest = 0.0;
    for (std::size_t i = first; i < first + group; ++i)
      largest = std::max(largest, std::fabs(values[i]));
    const double scale = half_scale ? round_to(largest / most, 11, -24) : largest / most;
    for (std::size_t i = first; i < first + group && scale > 0.0; ++i)
      values[i] = std::clamp(std::nearbyint(values[i] / scale), -most, most) * scale;
  }
  return values;
}

Vector as_fp8(Vector values) {
  double largest = 0.0;
  for (const double x : values) largest = std::max(largest, std::fabs(x));
  const double scale = largest / 448.0;
  for (double& x : values) x = round_to(x / scale, 4, -9) * scale;
  return values;
}

Vector stored(std::string_view format, const Vector& values) {
  if (format == "fp8_e4m3") return as_fp8(values);
  if (format == "int8") return as_multiples(values, values.size(), 127.0, false);
  if (format == "q8_0") return as_multiples(values, 32, 127.0, true);
  if (format == "q4_0" || format == "int4_g32") return as_multiples(values, 32, 7.0, true);
  if (format == "int4_g128") return as_multiples(values, 128, 7.0, true);
  return values;
}

bool codes_inputs(std::string_view format) {
  return format == "int8" || format == "q8_0" || format.starts_with("int4") || format == "q4_0";
}

NaiveStorage naive_storage(const Formats4& f) {
  return {.weights = [f](Tensor tensor,
                         const Vector& values) { return stored(format_of(f, tensor), values); },
          .inputs =
              [f](Tensor tensor, const Vector& x) {
                return codes_inputs(format_of(f, tensor)) ? as_multiples(x, 32, 127.0, false) : x;
              }};
}

ArchitectureSpec spec_with(const TinyModel& model, const Formats4& f) {
  ArchitectureSpec spec = spec_of(model);
  const auto set = [&](Component component, std::string_view format) {
    spec.formats[component] = storage_of(*find_format(format));
  };
  set(Component::attention, f.attention);
  set(Component::dense_ffn, f.dense);
  set(Component::routed_experts, f.experts);
  set(Component::embedding, f.head);
  set(Component::lm_head, f.head);
  return spec;
}

constexpr Formats4 kFormats[] = {
    {"fp32", "fp32", "fp32", "fp32"},         {"fp8_e4m3", "fp8_e4m3", "fp8_e4m3", "fp8_e4m3"},
    {"int8", "int8", "int8", "int8"},         {"q8_0", "q8_0", "q8_0", "q8_0"},
    {"q4_0", "q4_0", "q4_0", "q4_0"},         {"int4_g128", "int4_g128", "int4_g128", "int4_g128"},
    {"q8_0", "int4_g32", "fp8_e4m3", "bf16"}, {"bf16", "q4_0", "q4_0", "q8_0"},
};

/// Widths are whole blocks of every format; rows fill no whole number of tiles.
constexpr TinyModel kDense = {.n_layers = 2,
                              .hidden_dim = 128,
                              .n_heads = 8,
                              .n_kv_heads = 2,
                              .ffn_dim = 128,
                              .vocab_size = 101};
constexpr TinyModel kExperts = {.n_layers = 2,
                                .hidden_dim = 128,
                                .n_heads = 8,
                                .n_kv_heads = 2,
                                .ffn_dim = 128,
                                .vocab_size = 96,
                                .tied = false,
                                .n_experts = 6,
                                .n_experts_per_token = 2,
                                .expert_dim = 128,
                                .first_dense = 1};

/// Steps both decoders on the engine's tokens from an empty cache.
void check_formats(const TinyModel& model, const Formats4& f, IsaLevel isa, std::int64_t batch,
                   int threads) {
  DecodeEngine engine(spec_with(model, f), {.threads = threads, .isa = isa, .seed = 7});
  constexpr int kSteps = 3;
  engine.start(batch, 0, kSteps);
  std::vector<NaiveDecoder> twins;
  for (std::int64_t s = 0; s < batch; ++s)
    twins.emplace_back(model, synthetic_weights(7), naive_storage(f));
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<std::int64_t> tokens = engine.tokens();
    engine.step();
    for (std::int64_t s = 0; s < batch; ++s) {
      const auto at = static_cast<std::size_t>(s);
      hint_choices(engine, model, s, twins[at]);
      const Vector exact = twins[at].step(tokens[at]);
      CHECK(distance(logits_of(engine, s), exact) <= tolerance(model, exact));
    }
  }
}

TEST_CASE("steps in every weight format and instruction set are those of a naive decoder") {
  for (const IsaLevel isa : supported_isas()) {
    for (const Formats4& f : kFormats) {
      CAPTURE(isa_name(isa));
      CAPTURE(f.attention);
      CAPTURE(f.dense);
      check_formats(kDense, f, isa, 1, 1);
      check_formats(kExperts, f, isa, 5, 2);
    }
  }
}

TEST_CASE("a format changes the result by more than the comparison allows") {
  // Otherwise it would not tell formats apart.
  DecodeEngine engine(spec_with(kDense, kFormats[4]), {.threads = 1, .seed = 7});
  engine.start(1, 0, 1);
  engine.step();
  NaiveDecoder plain(kDense, synthetic_weights(7));
  const Vector exact = plain.step(0);
  CHECK(distance(logits_of(engine, 0), exact) > 2.0 * tolerance(kDense, exact));
}

TEST_CASE("counted weight bytes in every format are those of the model's operator list") {
  for (const TinyModel& model : {kDense, kExperts}) {
    for (const Formats4& f : kFormats) {
      CAPTURE(f.attention);
      for (const int threads : {1, 3}) {
        const ArchitectureSpec spec = spec_with(model, f);
        DecodeEngine engine(spec, {.threads = threads});
        engine.start(2, 5, 1);
        engine.step();
        const OperatorList model_list = decode_step(
            spec, {.sequences = 2.0, .context = 5.0, .experts_hit = engine.experts_hit()});
        const std::vector<Traffic> counted = engine.recorder().operator_bytes();
        REQUIRE(counted.size() == model_list.size());
        for (std::size_t i = 0; i < counted.size(); ++i) {
          CAPTURE(model_list[i].name);
          CHECK(counted[i].weights.value ==
                model_list[i].bytes.weights.value * model_list[i].count);
        }
      }
    }
  }
}

}  // namespace
}  // namespace roofcast
