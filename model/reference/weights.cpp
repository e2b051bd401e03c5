#include "model/reference/weights.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {
namespace {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): one multiplication chain per 64 random bits.
struct SplitMix64 {
  std::uint64_t state;

  std::uint64_t next() {
    state += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
};

constexpr std::uint64_t kFourLanes = 0x0001000100010001U;
constexpr std::uint64_t kMantissa = 0x007fU;
constexpr std::uint64_t kSign = 0x8000U;
constexpr int kExponentBias = 127;

/// Values with random mantissa, the bits of `keep_sign` random too, and this exponent.
void fill_bits(std::uint64_t seed, std::uint64_t keep_sign, int exponent, Bf16* out,
               std::int64_t n) {
  SplitMix64 random{seed};
  const std::uint64_t keep = (kMantissa | keep_sign) * kFourLanes;
  const std::uint64_t set =
      (static_cast<std::uint64_t>(exponent + kExponentBias) << 7) * kFourLanes;
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const std::uint64_t four = (random.next() & keep) | set;
    for (int j = 0; j < 4; ++j) out[i + j] = static_cast<Bf16>(four >> (16 * j));
  }
  for (std::uint64_t four = (random.next() & keep) | set; i < n; ++i, four >>= 16)
    out[i] = static_cast<Bf16>(four);
}

bool is_norm(Tensor tensor) {
  switch (tensor) {
    case Tensor::final_norm:
    case Tensor::attn_norm:
    case Tensor::ffn_norm:
    case Tensor::q_norm:
    case Tensor::k_norm:
    case Tensor::attn_post_norm:
    case Tensor::ffn_post_norm:
    case Tensor::q_latent_norm:
    case Tensor::kv_latent_norm:
    case Tensor::index_k_norm:
    case Tensor::mixer_norm:
    case Tensor::skip:
      return true;
    default:
      return false;
  }
}

bool is_bias(Tensor tensor) {
  switch (tensor) {
    case Tensor::q_bias:
    case Tensor::k_bias:
    case Tensor::v_bias:
    case Tensor::attn_out_bias:
    case Tensor::up_bias:
    case Tensor::gate_bias:
    case Tensor::down_bias:
    case Tensor::sinks:
    case Tensor::router_bias:
    case Tensor::index_k_norm_bias:
    case Tensor::mixer_in_bias:
    case Tensor::conv_bias:
    case Tensor::decay_log:
    case Tensor::time_step_bias:
    case Tensor::attn_gate_bias:
    case Tensor::expert_up_bias:
    case Tensor::expert_gate_bias:
    case Tensor::expert_down_bias:
      return true;
    default:
      return false;
  }
}

/// Exponent at which a row of this width with +-[1, 2) values has a length near 1: the mean square
/// of [1, 2) is 7 / 3.
int matrix_exponent(std::int64_t width) {
  return static_cast<int>(std::lround(-0.5 * std::log2(static_cast<double>(width) * 7.0 / 3.0)));
}

std::uint64_t place_seed(std::uint64_t seed, const TensorRow& at) {
  SplitMix64 mix{seed};
  mix.state ^= mix.next() + static_cast<std::uint64_t>(at.tensor);
  mix.state ^= mix.next() + static_cast<std::uint64_t>(at.layer + 1);
  mix.state ^= mix.next() + static_cast<std::uint64_t>(at.row);
  return mix.next();
}

}  // namespace

WeightSource synthetic_weights(std::uint64_t seed) {
  return [seed](const TensorRow& at, Bf16* out) {
    const std::uint64_t start = place_seed(seed, at);
    if (is_norm(at.tensor)) return fill_bits(start, 0, 0, out, at.width);
    const int exponent = is_bias(at.tensor) ? -4 : matrix_exponent(at.width);
    fill_bits(start, kSign, exponent, out, at.width);
  };
}

void fill_random(std::uint64_t seed, Bf16* out, std::int64_t n) {
  fill_bits(seed, kSign, -1, out, n);
}

void fill_random_bytes(std::uint64_t seed, std::uint8_t random, std::uint8_t fixed,
                       std::uint8_t* out, std::int64_t n) {
  SplitMix64 source{seed};
  constexpr std::uint64_t kEightLanes = 0x0101010101010101U;
  for (std::int64_t i = 0; i < n; i += 8) {
    std::uint64_t eight = (source.next() & random * kEightLanes) | fixed * kEightLanes;
    for (std::int64_t j = i; j < std::min(i + 8, n); ++j, eight >>= 8)
      out[j] = static_cast<std::uint8_t>(eight);
  }
}

}  // namespace roofcast
