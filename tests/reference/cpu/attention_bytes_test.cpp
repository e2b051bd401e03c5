#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "model/reference/cpu/kernels.hpp"
#include "tests/reference/cpu/random_values.hpp"

namespace roofcast {
namespace {

constexpr KvCode kByteCodes[] = {KvCode::fp8_e4m3, KvCode::int8};

/// Where keys and values in bytes lie: tiles of 4 tokens x 16, and of 4 tokens x 4 as two pairs.
std::int64_t key_place(std::int64_t head_dim, std::int64_t t, std::int64_t d) {
  return ((t / 4 * (head_dim / 16) + d / 16) * 4 + t % 4) * 16 + d % 16;
}
std::int64_t value_place(std::int64_t head_dim, std::int64_t t, std::int64_t d) {
  return ((t / 4 * (head_dim / 4) + d / 4) * 2 + t % 4 / 2) * 8 + d % 4 * 2 + t % 2;
}

/// Attention over one token whose key and value hold every byte once: its value comes out as it is,
/// and its score is the running maximum.
TEST_CASE("every byte of a cache counts as its number, wherever it is in a head") {
  constexpr std::int64_t kDim = 256;
  constexpr std::int64_t kGroup = 8;
  std::vector<std::uint8_t> keys(kDim * kTokenStep);
  std::vector<std::uint8_t> values(keys.size());
  for (std::int64_t d = 0; d < kDim; ++d) {
    keys[static_cast<std::size_t>(key_place(kDim, 0, d))] = static_cast<std::uint8_t>(d);
    values[static_cast<std::size_t>(value_place(kDim, 0, d))] = static_cast<std::uint8_t>(d);
  }
  for (const IsaLevel isa : supported_isas()) {
    for (const KvCode code : kByteCodes) {
      for (std::int64_t first = 0; first < kDim; first += kGroup) {
        std::vector<Bf16> q(kGroup * kDim, 0);
        for (std::int64_t h = 0; h < kGroup; ++h)
          q[static_cast<std::size_t>(h * kDim + first + h)] = float_to_bf16(1.0F);
        std::vector<float> max(kGroup);
        std::vector<float> sum(kGroup);
        std::vector<float> out(kGroup * kDim);
        kernels_for(isa).attend({.q = q.data(),
                                 .group = kGroup,
                                 .head_dim = kDim,
                                 .value_dim = kDim,
                                 .key_code = code,
                                 .value_code = code,
                                 .keys = keys.data(),
                                 .values = values.data(),
                                 .token0 = 0,
                                 .token1 = 1,
                                 .scale = 1.0F,
                                 .max = max.data(),
                                 .sum = sum.data(),
                                 .out = out.data()});
        for (std::int64_t h = 0; h < kGroup; ++h) {
          const auto byte = static_cast<std::uint8_t>(first + h);
          CAPTURE(isa_name(isa));
          CAPTURE(int{byte});
          CHECK(max[static_cast<std::size_t>(h)] == decode_byte(code, byte));
          CHECK(out[static_cast<std::size_t>(h * kDim + first + h)] == decode_byte(code, byte));
        }
      }
    }
  }
}

struct Case {
  KvCode key_code, value_code;
  std::int64_t group, head_dim, token0, token1, page_tokens;
};

/// Plain elements, and the same as a cache whose pages lie in reverse order.
struct TestCache {
  std::vector<double> plain_keys, plain_values;  // (tokens, head_dim)
  std::vector<std::byte> keys, values;
  std::vector<std::int32_t> pages;
};

/// Writes an element that is near `wanted` and returns it.
double write(KvCode code, float wanted, std::int64_t bf16_at, std::int64_t byte_at,
             std::vector<std::byte>& data) {
  if (code == KvCode::bf16) {
    const Bf16 bits = float_to_bf16(wanted);
    std::memcpy(data.data() + 2 * bf16_at, &bits, sizeof bits);
    return static_cast<double>(bf16_to_float(bits));
  }
  const std::uint8_t byte = encode_byte(code, wanted);
  data[static_cast<std::size_t>(byte_at)] = std::byte{byte};
  return static_cast<double>(decode_byte(code, byte));
}

TestCache make_cache(const Case& c) {
  const std::int64_t page = c.page_tokens == 0 ? kTokenStep : c.page_tokens;
  const std::int64_t pages = (c.token1 + page - 1) / page;
  TestCache cache;
  cache.pages.resize(static_cast<std::size_t>(pages));
  std::iota(cache.pages.rbegin(), cache.pages.rend(), 0);
  const auto room = static_cast<std::size_t>(pages * page * c.head_dim * 2);
  cache.keys.assign(room, std::byte{0});
  cache.values.assign(room, std::byte{0});
  const auto random = random_bf16(2 * c.token1 * c.head_dim, 3.0F, 31);
  for (std::int64_t t = 0; t < c.token1; ++t) {
    const std::int64_t place = c.page_tokens == 0 ? t : (pages - 1 - t / page) * page + t % page;
    for (std::int64_t d = 0; d < c.head_dim; ++d) {
      const auto at = static_cast<std::size_t>(t * c.head_dim + d);
      const std::int64_t bf16_key =
          ((place / 4 * (c.head_dim / 8) + d / 8) * 4 + place % 4) * 8 + d % 8;
      cache.plain_keys.push_back(write(c.key_code, bf16_to_float(random[2 * at]), bf16_key,
                                       key_place(c.head_dim, place, d), cache.keys));
      cache.plain_values.push_back(write(c.value_code, bf16_to_float(random[2 * at + 1]),
                                         (place / 2 * c.head_dim + d) * 2 + place % 2,
                                         value_place(c.head_dim, place, d), cache.values));
    }
  }
  return cache;
}

/// Softmax attention of one head in double.
std::vector<double> exact_attention(const TestCache& cache, const Case& c, const Bf16* q,
                                    double scale) {
  std::vector<double> out(static_cast<std::size_t>(c.head_dim), 0.0);
  double total = 0.0;
  for (std::int64_t t = c.token0; t < c.token1; ++t) {
    const auto row = static_cast<std::size_t>(t * c.head_dim);
    double score = 0.0;
    for (std::size_t d = 0; d < out.size(); ++d)
      score += static_cast<double>(bf16_to_float(q[d])) * cache.plain_keys[row + d];
    const double weight = std::exp(score * scale);
    total += weight;
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += weight * cache.plain_values[row + d];
  }
  for (double& x : out) x /= total;
  return out;
}

struct Output {
  std::vector<float> max, sum, out;
  bool operator==(const Output&) const = default;
};

Output attend(const Kernels& kernels, const Case& c, const TestCache& cache,
              const std::vector<Bf16>& q, float scale) {
  const auto group = static_cast<std::size_t>(c.group);
  Output output{std::vector<float>(group), std::vector<float>(group), std::vector<float>(q.size())};
  kernels.attend({.q = q.data(),
                  .group = c.group,
                  .head_dim = c.head_dim,
                  .value_dim = c.head_dim,
                  .key_code = c.key_code,
                  .value_code = c.value_code,
                  .keys = cache.keys.data(),
                  .values = cache.values.data(),
                  .pages = c.page_tokens == 0 ? nullptr : cache.pages.data(),
                  .page_tokens = c.page_tokens,
                  .token0 = c.token0,
                  .token1 = c.token1,
                  .scale = scale,
                  .max = output.max.data(),
                  .sum = output.sum.data(),
                  .out = output.out.data()});
  return output;
}

constexpr KvCode kB = KvCode::bf16, kF = KvCode::fp8_e4m3, kI = KvCode::int8;
/// Groups and widths that no vector divides, blocks that start and end inside of pages.
const Case kCases[] = {
    {kF, kF, 1, 16, 0, 1, 0},      {kI, kI, 2, 64, 0, 17, 0},    {kF, kF, 4, 128, 0, 64, 0},
    {kI, kI, 5, 80, 16, 100, 0},   {kF, kB, 8, 128, 64, 200, 0}, {kB, kI, 3, 48, 48, 131, 0},
    {kI, kF, 7, 32, 0, 300, 0},    {kB, kB, 3, 48, 48, 131, 16}, {kF, kF, 5, 80, 16, 100, 16},
    {kI, kI, 2, 128, 32, 300, 64}, {kB, kF, 1, 16, 0, 200, 48},  {kI, kB, 6, 64, 112, 290, 32},
};

TEST_CASE("attention to bytes and pages agrees with a softmax in double") {
  for (const IsaLevel isa : supported_isas()) {
    for (const Case& c : kCases) {
      CAPTURE(isa_name(isa));
      CAPTURE(c.group);
      CAPTURE(c.token1);
      const TestCache cache = make_cache(c);
      const auto q = random_bf16(c.group * c.head_dim, 1.0F, 13);
      const auto scale = static_cast<float>(0.5 / std::sqrt(static_cast<double>(c.head_dim)));
      const Output got = attend(kernels_for(isa), c, cache, q, scale);
      for (std::int64_t h = 0; h < c.group; ++h) {
        const auto exact =
            exact_attention(cache, c, q.data() + h * c.head_dim, static_cast<double>(scale));
        for (std::int64_t d = 0; d < c.head_dim; ++d) {
          const auto at = static_cast<std::size_t>(h * c.head_dim + d);
          const double mean =
              static_cast<double>(got.out[at] / got.sum[static_cast<std::size_t>(h)]);
          // Weights are rounded to bf16, each off by at most epsilon of itself; values are at most
          // 3, to which int8 rounds whole numbers and E4M3 halves.
          CHECK(std::fabs(mean - exact[static_cast<std::size_t>(d)]) <= 3.0 * kBf16Epsilon);
        }
      }
    }
  }
}

TEST_CASE("pages change no bit of what comes out") {
  for (const IsaLevel isa : supported_isas()) {
    for (Case c : kCases) {
      if (c.page_tokens == 0) continue;
      CAPTURE(isa_name(isa));
      CAPTURE(c.page_tokens);
      const auto q = random_bf16(c.group * c.head_dim, 1.0F, 13);
      const Output paged = attend(kernels_for(isa), c, make_cache(c), q, 0.1F);
      c.page_tokens = 0;
      CHECK(paged == attend(kernels_for(isa), c, make_cache(c), q, 0.1F));
    }
  }
}

}  // namespace
}  // namespace roofcast
