#include <doctest/doctest.h>

#include <cmath>

#include "model/reference/cpu/pack_heads.hpp"
#include "tests/reference/cpu/random_values.hpp"

// Latent kernels of every instruction set that this CPU has, against plain loops in double.
namespace roofcast {
namespace {

double at(const std::vector<Bf16>& values, std::int64_t i) {
  return static_cast<double>(bf16_to_float(values[static_cast<std::size_t>(i)]));
}

double product(const std::vector<Bf16>& a, std::int64_t row_a, const std::vector<Bf16>& b,
               std::int64_t row_b, std::int64_t width) {
  double sum = 0.0;
  for (std::int64_t d = 0; d < width; ++d)
    sum += at(a, row_a * width + d) * at(b, row_b * width + d);
  return sum;
}

std::vector<Bf16> packed(const std::vector<Bf16>& q, std::int64_t heads, std::int64_t width) {
  std::vector<Bf16> out(static_cast<std::size_t>(tiled_heads(heads) * width), Bf16{0x7fc0});
  pack_heads(q.data(), heads, width, out.data());
  return out;
}

TEST_CASE("packed queries hold a pair of each head side by side, and zeros beyond the heads") {
  // Two heads of four elements: pair 0 of both heads, then of 14 that are not there, then pair 1.
  const std::vector<Bf16> q = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<Bf16> out = packed(q, 2, 4);
  REQUIRE(out.size() == 64);
  CHECK(std::vector<Bf16>(out.begin(), out.begin() + 6) == std::vector<Bf16>{1, 2, 5, 6, 0, 0});
  CHECK(std::vector<Bf16>(out.begin() + 32, out.begin() + 38) ==
        std::vector<Bf16>{3, 4, 7, 8, 0, 0});
}

struct LatentCase {
  std::int64_t heads, latent_dim, value_dim, tokens, first_call;
};

/// Largest error of the outputs, whose values are at most 1, after two calls that share the tokens.
double worst_latent_error(const Kernels& kernels, const LatentCase& c) {
  const auto latents = random_bf16(c.tokens * c.latent_dim, 1.0F, 51);
  const auto q = random_bf16(c.heads * c.latent_dim, 2.0F, 52);
  const auto tiles = packed(q, c.heads, c.latent_dim);
  const auto tiled = static_cast<std::size_t>(tiled_heads(c.heads));
  std::vector<float> max(tiled, kNoScore);
  std::vector<float> sum(tiled, 0.0F);
  std::vector<float> out(static_cast<std::size_t>(c.heads * c.value_dim), 0.0F);
  LatentAttentionArgs args{.q = tiles.data(),
                           .heads = c.heads,
                           .latent_dim = c.latent_dim,
                           .value_dim = c.value_dim,
                           .latents = latents.data(),
                           .tokens = c.first_call,
                           .scale = 0.25F,
                           .max = max.data(),
                           .sum = sum.data(),
                           .out = out.data()};
  kernels.attend_latents(args);
  args.latents += c.first_call * c.latent_dim;
  args.tokens = c.tokens - c.first_call;
  if (args.tokens > 0) kernels.attend_latents(args);
  double worst = 0.0;
  for (std::int64_t h = 0; h < c.heads; ++h) {
    std::vector<double> weights;
    double total = 0.0;
    for (std::int64_t t = 0; t < c.tokens; ++t) {
      weights.push_back(std::exp(0.25 * product(q, h, latents, t, c.latent_dim)));
      total += weights.back();
    }
    for (std::int64_t d = 0; d < c.value_dim; ++d) {
      double exact = 0.0;
      for (std::int64_t t = 0; t < c.tokens; ++t)
        exact += weights[static_cast<std::size_t>(t)] / total * at(latents, t * c.latent_dim + d);
      const auto i = static_cast<std::size_t>(h * c.value_dim + d);
      const double got = static_cast<double>(out[i] / sum[static_cast<std::size_t>(h)]);
      worst = std::max(worst, std::fabs(got - exact));
    }
  }
  return worst;
}

TEST_CASE("latent attention agrees with a softmax in double for any heads, widths and tokens") {
  const LatentCase cases[] = {{1, 32, 32, 1, 1},     {3, 48, 32, 17, 17},  {16, 96, 64, 64, 64},
                              {21, 80, 64, 131, 64}, {80, 48, 32, 70, 33}, {128, 34, 32, 9, 4},
                              {12, 576, 512, 65, 65}};
  for (const IsaLevel isa : supported_isas()) {
    for (const LatentCase& c : cases) {
      CAPTURE(isa_name(isa));
      CAPTURE(c.heads);
      CAPTURE(c.tokens);
      // Weights are rounded to bf16, each off by at most epsilon of itself; values are at most 1.
      CHECK(worst_latent_error(kernels_for(isa), c) <= kBf16Epsilon);
    }
  }
}

TEST_CASE("index scores are weighted sums of positive products") {
  for (const IsaLevel isa : supported_isas()) {
    for (const std::int64_t heads : {1, 16, 21, 64}) {
      for (const std::int64_t tokens : {1, 64, 100}) {
        const std::int64_t dim = 48;
        const auto q = random_bf16(heads * dim, 1.0F, 61);
        const auto keys = random_bf16(tokens * dim, 1.0F, 62);
        const auto tiles = packed(q, heads, dim);
        std::vector<float> weights(static_cast<std::size_t>(tiled_heads(heads)), 0.0F);
        for (std::int64_t h = 0; h < heads; ++h)
          weights[static_cast<std::size_t>(h)] =
              (h % 3 == 0 ? -0.5F : 1.0F) / static_cast<float>(h + 1);
        std::vector<float> scores(static_cast<std::size_t>(tokens));
        kernels_for(isa).score_index({.q = tiles.data(),
                                      .weights = weights.data(),
                                      .heads = heads,
                                      .head_dim = dim,
                                      .keys = keys.data(),
                                      .tokens = tokens,
                                      .scores = scores.data()});
        for (std::int64_t t = 0; t < tokens; ++t) {
          double exact = 0.0;
          for (std::int64_t h = 0; h < heads; ++h)
            exact += static_cast<double>(weights[static_cast<std::size_t>(h)]) *
                     std::max(0.0, product(q, h, keys, t, dim));
          // fp32 sums of products of at most 1: 48 per head, weighted by at most 1 / (h + 1).
          CHECK(std::fabs(static_cast<double>(scores[static_cast<std::size_t>(t)]) - exact) <=
                1e-4);
        }
      }
    }
  }
}

}  // namespace
}  // namespace roofcast
