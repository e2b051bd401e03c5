#include "model/reference/cpu/elementwise_body.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/reference/cpu/random_values.hpp"
#include "tests/relative.hpp"

// Variants of the kernels of every instruction set that this CPU has, against loops in double.
using roofcast::test::relative;

namespace roofcast {
namespace {

double at(const std::vector<Bf16>& values, std::int64_t i) {
  return static_cast<double>(bf16_to_float(values[static_cast<std::size_t>(i)]));
}

TEST_CASE("a norm multiplies by its offset plus its weight") {
  for (const IsaLevel isa : supported_isas()) {
    for (const std::int64_t n : {16, 50}) {
      CAPTURE(isa_name(isa));
      auto residual = random_bf16(n, 3.0F, 21);
      const auto weight = random_bf16(n, 0.5F, 23);
      std::vector<Bf16> x(static_cast<std::size_t>(n));
      kernels_for(isa).add_norm({.residual = residual.data(),
                                 .weight = weight.data(),
                                 .x = x.data(),
                                 .n = n,
                                 .epsilon = 1e-6F,
                                 .weight_offset = 1.0F});
      double squares = 0.0;
      for (std::int64_t i = 0; i < n; ++i) squares += at(residual, i) * at(residual, i);
      const double rms = std::sqrt(squares / static_cast<double>(n) + 1e-6);
      for (std::int64_t i = 0; i < n; ++i)
        CHECK(at(x, i) == relative(at(residual, i) / rms * (1.0 + at(weight, i))).epsilon(0.004));
    }
  }
}

TEST_CASE("only the given width of a head turns, and the rest is normalised alone") {
  constexpr std::int64_t kDim = 32;
  const auto head = random_bf16(kDim, 1.0F, 31);
  const auto weight = random_bf16(kDim, 0.5F, 32);
  double squares = 0.0;
  for (std::int64_t i = 0; i < kDim; ++i) squares += at(head, i) * at(head, i);
  const double rms = std::sqrt(squares / kDim + 1e-6);
  // A quarter turn: (low, high) becomes (-high, low).
  const std::vector<float> cosine(kDim / 2, 0.0F);
  const std::vector<float> sine(kDim / 2, 1.0F);
  for (const IsaLevel isa : supported_isas()) {
    for (const std::int64_t width : {0, 8, 16, 32, -1}) {
      CAPTURE(isa_name(isa));
      CAPTURE(width);
      std::vector<Bf16> out(kDim);
      kernels_for(isa).rotate_head({.in = head.data(),
                                    .norm_weight = weight.data(),
                                    .cosine = width == 0 ? nullptr : cosine.data(),
                                    .sine = width == 0 ? nullptr : sine.data(),
                                    .out = out.data(),
                                    .head_dim = kDim,
                                    .epsilon = 1e-6F,
                                    .weight_offset = 1.0F,
                                    .width = width});
      const std::int64_t turned = width < 0 ? kDim : width;
      for (std::int64_t i = 0; i < kDim; ++i) {
        const bool low = i < turned / 2;
        const std::int64_t from = i >= turned ? i : (low ? i + turned / 2 : i - turned / 2);
        const double sign = low && i < turned ? -1.0 : 1.0;
        CHECK(at(out, i) ==
              relative(sign * at(head, from) / rms * (1.0 + at(weight, from))).epsilon(0.004));
      }
    }
  }
}

double gelu(double x) {
  const double inner = std::sqrt(2.0 / 3.14159265358979) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + std::tanh(inner));
}

TEST_CASE("each activation is applied to the gate, or to the input without one") {
  const std::int64_t n = 37;
  const auto up = random_bf16(n, 4.0F, 41);
  const auto gate = random_bf16(n, 4.0F, 42);
  const auto run = [&](IsaLevel isa, Activation kind, const std::vector<Bf16>* gates) {
    std::vector<Bf16> out(static_cast<std::size_t>(n));
    kernels_for(isa).activate({.up = up.data(),
                               .gate = gates == nullptr ? nullptr : gates->data(),
                               .out = out.data(),
                               .n = n,
                               .kind = kind,
                               .swiglu = {.alpha = 1.5F, .limit = 2.0F}});
    return out;
  };
  for (const IsaLevel isa : supported_isas()) {
    CAPTURE(isa_name(isa));
    const auto gated_gelu = run(isa, Activation::gelu, &gate);
    const auto squared = run(isa, Activation::relu_squared, nullptr);
    const auto gated_squared = run(isa, Activation::relu_squared, &gate);
    const auto silu = run(isa, Activation::silu, nullptr);
    const auto clamped = run(isa, Activation::clamped_swiglu, &gate);
    for (std::int64_t i = 0; i < n; ++i) {
      const double u = at(up, i);
      const double g = at(gate, i);
      const double positive = std::max(u, 0.0);
      const double open = std::max(g, 0.0);
      CHECK(std::fabs(at(gated_gelu, i) - u * gelu(g)) <= std::fabs(u * g) * kBf16Epsilon);
      CHECK(std::fabs(at(squared, i) - positive * positive) <= positive * positive * kBf16Epsilon);
      CHECK(std::fabs(at(gated_squared, i) - u * open * open) <=
            std::fabs(u * open * open) * kBf16Epsilon);
      CHECK(std::fabs(at(silu, i) - u / (1.0 + std::exp(-u))) <= std::fabs(u) * kBf16Epsilon);
      const double low = std::min(g, 2.0);
      const double held = std::clamp(u, -2.0, 2.0);
      CHECK(std::fabs(at(clamped, i) - (held + 1.0) * low / (1.0 + std::exp(-1.5 * low))) <=
            std::fabs((held + 1.0) * low) * kBf16Epsilon);
    }
  }
}

}  // namespace
}  // namespace roofcast
