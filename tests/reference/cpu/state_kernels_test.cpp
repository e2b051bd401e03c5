#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "model/reference/cpu/kernels.hpp"
#include "tests/reference/cpu/random_values.hpp"

// Kernels of state layers, of every instruction set that this CPU has, against plain loops in
// double.
namespace roofcast {
namespace {

std::vector<double> wide(const std::vector<Bf16>& values) {
  std::vector<double> out;
  for (const Bf16 bits : values) out.push_back(static_cast<double>(bf16_to_float(bits)));
  return out;
}

std::vector<float> floats(const std::vector<Bf16>& values) {
  std::vector<float> out;
  for (const Bf16 bits : values) out.push_back(bf16_to_float(bits));
  return out;
}

struct StateCase {
  StateRule rule = StateRule::linear;
  StateFormat format = StateFormat::fp32;
  std::int64_t key_dim = 0, value_dim = 0;
};

/// A head's state as plain rows (key_dim, value_dim), and one token's vectors.
struct Head {
  std::vector<double> state;
  std::vector<float> key, query, decay, value;
  float strength = 0.7F;
};

Head make_head(const StateCase& c) {
  Head head;
  head.state = wide(random_bf16(c.key_dim * c.value_dim, 1.0F, 1));
  head.key = floats(random_bf16(c.key_dim, 0.5F, 2));
  head.query = floats(random_bf16(c.key_dim, 0.5F, 3));
  head.decay = floats(random_bf16(c.key_dim, 1.0F, 4));
  head.value = floats(random_bf16(c.value_dim, 1.0F, 5));
  return head;
}

std::size_t stored_place(const StateCase& c, std::int64_t i, std::int64_t j) {
  return static_cast<std::size_t>((j / 16 * c.key_dim + i) * 16 + j % 16);
}

/// Moves the plain state on by one token and returns S^T query.
std::vector<double> step_plainly(const StateCase& c, Head& head) {
  std::vector<double> out;
  for (std::int64_t j = 0; j < c.value_dim; ++j) {
    const auto element = [&](std::int64_t i) -> double& {
      return head.state[static_cast<std::size_t>(i * c.value_dim + j)];
    };
    const auto at = [](const std::vector<float>& v, std::int64_t i) {
      return static_cast<double>(v[static_cast<std::size_t>(i)]);
    };
    double added = at(head.value, j);
    for (std::int64_t i = 0; i < c.key_dim; ++i) element(i) *= at(head.decay, i);
    for (std::int64_t i = 0; i < c.key_dim && c.rule == StateRule::delta; ++i)
      added -= element(i) * at(head.key, i);
    double sum = 0.0;
    for (std::int64_t i = 0; i < c.key_dim; ++i) {
      element(i) += at(head.key, i) * added * static_cast<double>(head.strength);
      sum += element(i) * at(head.query, i);
    }
    out.push_back(sum);
  }
  return out;
}

/// Bounds of rounding: sums of up to key_dim products of magnitude about 1 in fp32, and of a
/// state's elements when they are stored.
double sum_error(const StateCase& c) {
  return 8.0 * static_cast<double>(c.key_dim) * std::ldexp(1.0, -24);
}

void check_recurrence(const Kernels& kernels, const StateCase& c) {
  Head head = make_head(c);
  const auto elements = static_cast<std::size_t>(c.key_dim * c.value_dim);
  std::vector<float> stored(elements);
  std::vector<Bf16> stored_bf16(elements);
  for (std::int64_t i = 0; i < c.key_dim; ++i) {
    for (std::int64_t j = 0; j < c.value_dim; ++j) {
      const auto x = static_cast<float>(head.state[static_cast<std::size_t>(i * c.value_dim + j)]);
      stored[stored_place(c, i, j)] = x;
      stored_bf16[stored_place(c, i, j)] = float_to_bf16(x);
    }
  }
  const bool fp32 = c.format == StateFormat::fp32;
  std::vector<float> out(head.value.size());
  kernels.recur({.state = fp32 ? static_cast<void*>(stored.data()) : stored_bf16.data(),
                 .format = c.format,
                 .rule = c.rule,
                 .key_dim = c.key_dim,
                 .value_dim = c.value_dim,
                 .key = head.key.data(),
                 .query = head.query.data(),
                 .decay = head.decay.data(),
                 .value = head.value.data(),
                 .strength = head.strength,
                 .out = out.data()});
  const std::vector<double> exact = step_plainly(c, head);
  double worst_out = 0.0;
  double worst_state = 0.0;
  for (std::int64_t j = 0; j < c.value_dim; ++j) {
    const auto at = static_cast<std::size_t>(j);
    worst_out = std::max(worst_out, std::fabs(static_cast<double>(out[at]) - exact[at]));
    for (std::int64_t i = 0; i < c.key_dim; ++i) {
      const std::size_t place = stored_place(c, i, j);
      const float own = fp32 ? stored[place] : bf16_to_float(stored_bf16[place]);
      const double other = head.state[static_cast<std::size_t>(i * c.value_dim + j)];
      const double rounding = fp32 ? 0.0 : std::fabs(other) * kBf16Epsilon;
      worst_state = std::max(worst_state, std::fabs(static_cast<double>(own) - other) - rounding);
    }
  }
  CHECK(worst_out <= sum_error(c));
  CHECK(worst_state <= sum_error(c));
}

TEST_CASE("a state moves on by a token as plain sums in double have it") {
  for (const IsaLevel isa : supported_isas()) {
    for (const StateRule rule : {StateRule::linear, StateRule::delta}) {
      for (const StateFormat format : {StateFormat::fp32, StateFormat::bf16}) {
        for (StateCase c : {StateCase{.key_dim = 4, .value_dim = 16},
                            {.key_dim = 12, .value_dim = 32},
                            {.key_dim = 128, .value_dim = 64},
                            {.key_dim = 132, .value_dim = 48}}) {
          c.rule = rule;
          c.format = format;
          CAPTURE(isa_name(isa));
          CAPTURE(static_cast<int>(rule));
          CAPTURE(static_cast<int>(format));
          CAPTURE(c.key_dim);
          check_recurrence(kernels_for(isa), c);
        }
      }
    }
  }
}

TEST_CASE("with decays of 1 and nothing written a state keeps its bits") {
  for (const IsaLevel isa : supported_isas()) {
    for (const StateRule rule : {StateRule::linear, StateRule::delta}) {
      const StateCase c{rule, StateFormat::fp32, 64, 32};
      const std::vector<Bf16> before = random_bf16(2 * c.key_dim * c.value_dim, 1.0F, 9);
      std::vector<float> state(before.size() / 2);
      std::memcpy(state.data(), before.data(), state.size() * sizeof(float));
      Head head = make_head(c);
      head.decay.assign(head.decay.size(), 1.0F);
      std::vector<float> out(head.value.size());
      kernels_for(isa).recur({.state = state.data(),
                              .format = c.format,
                              .rule = rule,
                              .key_dim = c.key_dim,
                              .value_dim = c.value_dim,
                              .key = head.key.data(),
                              .query = head.query.data(),
                              .decay = head.decay.data(),
                              .value = head.value.data(),
                              .strength = 0.0F,
                              .out = out.data()});
      CHECK(std::memcmp(state.data(), before.data(), state.size() * sizeof(float)) == 0);
    }
  }
}

struct ConvolutionCase {
  std::int64_t n, kernel;
  bool bias, gate, silu;
};

void check_convolution(const Kernels& kernels, const ConvolutionCase& c) {
  const auto taps = random_bf16(c.n * c.kernel, 1.0F, 21);
  const auto bias = random_bf16(c.n, 1.0F, 22);
  const auto gate = random_bf16(c.n, 1.0F, 23);
  const auto x = random_bf16(c.n, 1.0F, 24);
  auto inputs = random_bf16(c.n * (c.kernel - 1), 1.0F, 25);
  const auto before = inputs;
  std::vector<Bf16> out(x.size());
  kernels.convolve({.taps = taps.data(),
                    .bias = c.bias ? bias.data() : nullptr,
                    .inputs = inputs.data(),
                    .x = x.data(),
                    .gate = c.gate ? gate.data() : nullptr,
                    .out = out.data(),
                    .kernel = c.kernel,
                    .n = c.n,
                    .silu = c.silu});
  const auto at = [&](const std::vector<Bf16>& v, std::int64_t row, std::int64_t channel) {
    return v[static_cast<std::size_t>(row * c.n + channel)];
  };
  for (std::int64_t i = 0; i < c.n; ++i) {
    const float product = bf16_to_float(at(x, 0, i)) * bf16_to_float(at(gate, 0, i));
    const Bf16 newest = c.gate ? float_to_bf16(product) : at(x, 0, i);
    double sum = c.bias ? static_cast<double>(bf16_to_float(at(bias, 0, i))) : 0.0;
    for (std::int64_t j = 0; j < c.kernel; ++j) {
      const Bf16 input = j + 1 < c.kernel ? at(before, j, i) : newest;
      sum += static_cast<double>(bf16_to_float(input)) *
             static_cast<double>(bf16_to_float(at(taps, j, i)));
    }
    const double exact = c.silu ? sum / (1.0 + std::exp(-sum)) : sum;
    const double error = std::fabs(static_cast<double>(bf16_to_float(at(out, 0, i))) - exact);
    CHECK(error <= std::fabs(exact) * kBf16Epsilon + 16.0 * std::ldexp(1.0, -24));
    for (std::int64_t j = 0; j + 1 < c.kernel; ++j)
      CHECK(at(inputs, j, i) == (j + 2 < c.kernel ? at(before, j + 1, i) : newest));
  }
}

TEST_CASE("a convolution weighs its kept inputs, and the oldest leaves for the newest") {
  const ConvolutionCase cases[] = {{16, 4, false, false, true},
                                   {100, 4, true, false, true},
                                   {7, 3, false, true, false},
                                   {48, 2, true, true, false},
                                   {33, 1, true, false, true}};
  for (const IsaLevel isa : supported_isas()) {
    for (const ConvolutionCase& c : cases) {
      CAPTURE(isa_name(isa));
      CAPTURE(c.n);
      check_convolution(kernels_for(isa), c);
    }
  }
}

TEST_CASE("a gate takes part before a norm, or after it") {
  for (const IsaLevel isa : supported_isas()) {
    for (const NormGate order :
         {NormGate::silu_before, NormGate::silu_after, NormGate::sigmoid_after}) {
      for (const std::int64_t n : {16, 50, 128}) {
        CAPTURE(isa_name(isa));
        CAPTURE(static_cast<int>(order));
        CAPTURE(n);
        const auto x = random_bf16(n, 2.0F, 31);
        const auto gate = random_bf16(n, 2.0F, 32);
        const auto weight = random_bf16(n, 2.0F, 33);
        std::vector<Bf16> out(x.size());
        kernels_for(isa).gated_norm({.x = x.data(),
                                     .gate = gate.data(),
                                     .weight = weight.data(),
                                     .out = out.data(),
                                     .n = n,
                                     .epsilon = 1e-5F,
                                     .order = order});
        std::vector<double> y = wide(x);
        const std::vector<double> z = wide(gate);
        const auto sigmoid = [](double v) { return 1.0 / (1.0 + std::exp(-v)); };
        double squares = 0.0;
        for (std::size_t i = 0; i < y.size(); ++i) {
          if (order == NormGate::silu_before) y[i] *= z[i] * sigmoid(z[i]);
          squares += y[i] * y[i];
        }
        const double rms = std::sqrt(squares / static_cast<double>(n) + 1e-5);
        for (std::size_t i = 0; i < y.size(); ++i) {
          y[i] *= wide(weight)[i] / rms;
          if (order == NormGate::silu_after) y[i] *= z[i] * sigmoid(z[i]);
          if (order == NormGate::sigmoid_after) y[i] *= sigmoid(z[i]);
          CHECK(std::fabs(wide(out)[i] - y[i]) <= std::fabs(y[i]) * (kBf16Epsilon + 1e-5));
        }
      }
    }
  }
}

TEST_CASE("products are rounded once") {
  for (const IsaLevel isa : supported_isas()) {
    const auto a = random_bf16(37, 2.0F, 41);
    const auto b = random_bf16(37, 2.0F, 42);
    std::vector<Bf16> out(a.size());
    kernels_for(isa).multiply(a.data(), b.data(), out.data(), 37);
    for (std::size_t i = 0; i < a.size(); ++i)
      CHECK(out[i] == float_to_bf16(bf16_to_float(a[i]) * bf16_to_float(b[i])));
  }
}

}  // namespace
}  // namespace roofcast
