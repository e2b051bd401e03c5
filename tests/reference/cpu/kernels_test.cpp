#include "model/reference/cpu/kernels.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <stdexcept>

#include "model/reference/cpu/packed_matrix.hpp"
#include "tests/reference/cpu/random_values.hpp"
#include "tests/relative.hpp"

// Every kernel of every instruction set that this CPU has, against plain loops in double.
using roofcast::test::relative;

namespace roofcast {
namespace {

double at(const std::vector<Bf16>& values, std::int64_t i) {
  return static_cast<double>(bf16_to_float(values[static_cast<std::size_t>(i)]));
}

struct HeadCase {
  std::int64_t group, head_dim, token0, token1;
};

/// Keys and values of one head in the cache's layout, and as plain (tokens, head_dim).
struct TestCache {
  std::vector<Bf16> keys, values, plain_keys, plain_values;
};

TestCache make_cache(std::int64_t tokens, std::int64_t head_dim) {
  const std::int64_t padded = (tokens + kTokenStep - 1) / kTokenStep * kTokenStep;
  TestCache cache;
  cache.plain_keys = random_bf16(tokens * head_dim, 2.0F, 11);
  cache.plain_values = random_bf16(tokens * head_dim, 1.0F, 12);
  cache.keys.assign(static_cast<std::size_t>(padded * head_dim), 0);
  cache.values.assign(static_cast<std::size_t>(padded * head_dim), 0);
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t d = 0; d < head_dim; ++d) {
      const auto plain = static_cast<std::size_t>(t * head_dim + d);
      const std::int64_t key = ((t / 4 * (head_dim / 8) + d / 8) * 4 + t % 4) * 8 + d % 8;
      const std::int64_t value = (t / 2 * head_dim + d) * 2 + t % 2;
      cache.keys[static_cast<std::size_t>(key)] = cache.plain_keys[plain];
      cache.values[static_cast<std::size_t>(value)] = cache.plain_values[plain];
    }
  }
  return cache;
}

/// Softmax attention of one head in double: the weighted mean of values over [token0, token1).
std::vector<double> exact_attention(const TestCache& cache, const std::vector<Bf16>& q,
                                    std::int64_t head, const HeadCase& c, double scale) {
  std::vector<double> scores;
  double top = -1e300;
  for (std::int64_t t = c.token0; t < c.token1; ++t) {
    double score = 0.0;
    for (std::int64_t d = 0; d < c.head_dim; ++d)
      score += at(q, head * c.head_dim + d) * at(cache.plain_keys, t * c.head_dim + d);
    scores.push_back(score * scale);
    top = std::max(top, scores.back());
  }
  double total = 0.0;
  std::vector<double> out(static_cast<std::size_t>(c.head_dim), 0.0);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double p = std::exp(scores[i] - top);
    total += p;
    for (std::int64_t d = 0; d < c.head_dim; ++d)
      out[static_cast<std::size_t>(d)] +=
          p * at(cache.plain_values, (c.token0 + static_cast<std::int64_t>(i)) * c.head_dim + d);
  }
  for (double& x : out) x /= total;
  return out;
}

double worst_attention_error(const Kernels& kernels, const HeadCase& c) {
  const TestCache cache = make_cache(c.token1, c.head_dim);
  const auto q = random_bf16(c.group * c.head_dim, 2.0F, 13);
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(c.head_dim)));
  std::vector<float> max(static_cast<std::size_t>(c.group));
  std::vector<float> sum(max.size());
  std::vector<float> out(static_cast<std::size_t>(c.group * c.head_dim));
  kernels.attend({.q = q.data(),
                  .group = c.group,
                  .head_dim = c.head_dim,
                  .value_dim = c.head_dim,
                  .keys = cache.keys.data(),
                  .values = cache.values.data(),
                  .token0 = c.token0,
                  .token1 = c.token1,
                  .scale = scale,
                  .max = max.data(),
                  .sum = sum.data(),
                  .out = out.data()});
  double worst = 0.0;
  for (std::int64_t h = 0; h < c.group; ++h) {
    const auto exact = exact_attention(cache, q, h, c, static_cast<double>(scale));
    for (std::int64_t d = 0; d < c.head_dim; ++d) {
      const auto i = static_cast<std::size_t>(h * c.head_dim + d);
      const double got = static_cast<double>(out[i] / sum[static_cast<std::size_t>(h)]);
      worst = std::max(worst, std::fabs(got - exact[static_cast<std::size_t>(d)]));
    }
  }
  return worst;
}

TEST_CASE("attention agrees with a softmax in double for any group, head width and token range") {
  const HeadCase cases[] = {{1, 16, 0, 1},    {2, 64, 0, 17},    {4, 128, 0, 64},
                            {5, 80, 16, 100}, {8, 128, 64, 200}, {3, 32, 48, 131}};
  for (const IsaLevel isa : supported_isas()) {
    for (const HeadCase& c : cases) {
      CAPTURE(isa_name(isa));
      CAPTURE(c.group);
      CAPTURE(c.token1);
      // Weights are rounded to bf16, each off by at most epsilon of itself; values are at most 1.
      CHECK(worst_attention_error(kernels_for(isa), c) <= kBf16Epsilon);
    }
  }
}

TEST_CASE("the norm adds the block's output first and normalises what it stored") {
  for (const IsaLevel isa : supported_isas()) {
    for (const std::int64_t n : {16, 50, 128}) {
      CAPTURE(isa_name(isa));
      const auto before = random_bf16(n, 3.0F, 21);
      const auto y = random_bf16(n, 1.0F, 22);
      const auto weight = random_bf16(n, 2.0F, 23);
      auto residual = before;
      std::vector<Bf16> x(static_cast<std::size_t>(n));
      kernels_for(isa).add_norm({residual.data(), y.data(), weight.data(), x.data(), n, 1e-6F});
      double squares = 0.0;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto sum = static_cast<float>(at(before, i) + at(y, i));
        CHECK(residual[static_cast<std::size_t>(i)] == float_to_bf16(sum));
        squares += at(residual, i) * at(residual, i);
      }
      const double rms = std::sqrt(squares / static_cast<double>(n) + 1e-6);
      for (std::int64_t i = 0; i < n; ++i)
        CHECK(at(x, i) == relative(at(residual, i) / rms * at(weight, i)).epsilon(0.004));
    }
  }
}

TEST_CASE("a rotated head keeps its length and turns by the given angles") {
  constexpr std::int64_t kDim = 32;
  const auto head = random_bf16(kDim, 1.0F, 31);
  std::vector<float> cosine;
  std::vector<float> sine;
  for (int i = 0; i < kDim / 2; ++i) {
    cosine.push_back(std::cos(0.3F * static_cast<float>(i)));
    sine.push_back(std::sin(0.3F * static_cast<float>(i)));
  }
  for (const IsaLevel isa : supported_isas()) {
    std::vector<Bf16> out(kDim);
    kernels_for(isa).rotate_head({.in = head.data(),
                                  .cosine = cosine.data(),
                                  .sine = sine.data(),
                                  .out = out.data(),
                                  .head_dim = kDim,
                                  .epsilon = 1e-6F});
    for (int i = 0; i < kDim / 2; ++i) {
      const double low = at(head, i);
      const double high = at(head, i + kDim / 2);
      const double angle = 0.3 * i;
      const double length = std::hypot(low, high);
      CHECK(std::fabs(at(out, i) - (low * std::cos(angle) - high * std::sin(angle))) <=
            length * kBf16Epsilon);
      CHECK(std::fabs(at(out, i + kDim / 2) - (high * std::cos(angle) + low * std::sin(angle))) <=
            length * kBf16Epsilon);
    }
  }
}

TEST_CASE("activations are silu of the gate times up, and gelu without a gate") {
  const std::int64_t n = 21;
  const auto up = random_bf16(n, 4.0F, 41);
  const auto gate = random_bf16(n, 30.0F, 42);
  for (const IsaLevel isa : supported_isas()) {
    CAPTURE(isa_name(isa));
    std::vector<Bf16> gated(static_cast<std::size_t>(n));
    std::vector<Bf16> plain(static_cast<std::size_t>(n));
    kernels_for(isa).activate({up.data(), gate.data(), gated.data(), n});
    kernels_for(isa).activate({up.data(), nullptr, plain.data(), n, Activation::gelu});
    for (std::int64_t i = 0; i < n; ++i) {
      const double u = at(up, i);
      const double g = at(gate, i);
      CHECK(std::fabs(at(gated, i) - u * g / (1.0 + std::exp(-g))) <=
            std::fabs(u * g) * kBf16Epsilon);
      const double inner = std::sqrt(2.0 / 3.14159265358979) * (u + 0.044715 * u * u * u);
      CHECK(std::fabs(at(plain, i) - 0.5 * u * (1.0 + std::tanh(inner))) <=
            std::fabs(u) * kBf16Epsilon);
    }
  }
}

TEST_CASE("a matrix that starts at another thread has all rows once") {
  // Three row tiles, the last of 5 rows, among two threads: one tile, then two.
  const auto w = random_bf16(std::int64_t{37} * 8, 1.0F, 26);
  Arenas arenas(2);
  PackedMatrix packed(37, 8, kBf16Weights, arenas, 3);
  CHECK(packed.slab(0) == Range{16, 37});
  CHECK(packed.slab(1) == Range{0, 16});
  for (const int thread : {0, 1})
    packed.fill(thread, [&](std::int64_t row, Bf16* out) {
      for (std::int64_t j = 0; j < 8; ++j) out[j] = w[static_cast<std::size_t>(row * 8 + j)];
    });
  for (const std::int64_t row : {0, 15, 16, 36}) {
    std::vector<Bf16> out(8);
    packed.gather_row(row, out.data());
    for (std::int64_t j = 0; j < 8; ++j) CHECK(at(out, j) == at(w, row * 8 + j));
  }
}

TEST_CASE("weighted sums are rounded once, and may replace one of their rows") {
  for (const IsaLevel isa : supported_isas()) {
    for (const std::int64_t n : {1, 16, 37, 64}) {
      const std::vector<Bf16> parts[] = {random_bf16(n, 2.0F, 21), random_bf16(n, 2.0F, 22),
                                         random_bf16(n, 2.0F, 23)};
      std::vector<Bf16> out = parts[0];
      const Bf16* const rows[] = {out.data(), parts[1].data(), parts[2].data()};
      const float weights[] = {1.0F, 0.25F, -0.7F};
      kernels_for(isa).weighted_sum({rows, weights, 3, out.data(), n});
      for (std::int64_t i = 0; i < n; ++i) {
        const double sum = at(parts[0], i) + 0.25 * at(parts[1], i) - 0.7 * at(parts[2], i);
        CHECK(std::fabs(at(out, i) - sum) <= std::fabs(sum) * kBf16Epsilon + 1e-6);
      }
    }
  }
}

TEST_CASE("a dot product of any length is that in double") {
  for (const IsaLevel isa : supported_isas()) {
    for (const std::int64_t n : {1, 16, 50, 129}) {
      const auto a = random_bf16(n, 1.0F, 24);
      const auto b = random_bf16(n, 1.0F, 25);
      double sum = 0.0;
      for (std::int64_t i = 0; i < n; ++i) sum += at(a, i) * at(b, i);
      CHECK(std::fabs(static_cast<double>(kernels_for(isa).dot(a.data(), b.data(), n)) - sum) <=
            1e-5);
    }
  }
}

TEST_CASE("argmax finds the first of the largest values wherever it stands") {
  for (const IsaLevel isa : supported_isas()) {
    for (const std::int64_t n : {1, 7, 16, 100}) {
      for (std::int64_t i = 0; i < n; i += 3) {
        std::vector<Bf16> values(static_cast<std::size_t>(n), float_to_bf16(-2.0F));
        values[static_cast<std::size_t>(i)] = float_to_bf16(-1.5F);
        values.back() = float_to_bf16(-1.5F);
        CHECK(kernels_for(isa).argmax(values.data(), n) == i);
      }
    }
  }
}

TEST_CASE("a read returns the sum of all words") {
  std::vector<std::uint32_t> words(512);
  std::uint32_t expected = 0;
  for (std::size_t i = 0; i < words.size(); ++i)
    expected += words[i] = static_cast<std::uint32_t>(i * i);
  for (const IsaLevel isa : supported_isas())
    CHECK(kernels_for(isa).read(reinterpret_cast<const std::byte*>(words.data()), 2048) ==
          expected);
}

TEST_CASE("a dot burst counts its rounds: each adds 2 x (1/128)^2 to every lane") {
  // 12 chains start at 0..11, which sum to 66 per lane; bf16 0x3c00 is 2^-7.
  for (const IsaLevel isa : supported_isas()) {
    const Kernels& kernels = kernels_for(isa);
    const double lanes = kernels.dot_flops_per_round / 48.0;
    const double expected = lanes * (66.0 + 12.0 * 4096.0 * 2.0 / 16384.0);
    CHECK(static_cast<double>(kernels.dot_burst(4096)) == relative(expected));
  }
}

TEST_CASE("portable kernels exist everywhere, and levels come slowest first") {
  CHECK(supported_isas().front() == IsaLevel::portable);
  CHECK(kernels_for(IsaLevel::portable).isa == IsaLevel::portable);
  CHECK(kernels_for(best_isa()).isa == best_isa());
}

}  // namespace
}  // namespace roofcast
