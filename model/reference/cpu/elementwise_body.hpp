#pragma once

#include "model/reference/cpu/kernels.hpp"

// See gemm_body.hpp for how these templates are used.
namespace roofcast::detail {

/// 1 / sqrt(sum / n + epsilon)
template <typename S>
float inverse_rms(float sum_of_squares, std::int64_t n, float epsilon) {
  return 1.0F / __builtin_sqrtf(sum_of_squares / static_cast<float>(n) + epsilon);
}

template <typename S>
typename S::Floats norm_weight(const Bf16* weight, float offset) {
  return S::add(S::load_bf16(weight), S::set(offset));
}

template <typename S>
void add_norm(const NormArgs& a) {
  const std::int64_t whole = a.n / S::kLanes * S::kLanes;
  typename S::Floats squares = S::zero();
  float rest = 0.0F;
  for (std::int64_t i = 0; i < whole; i += S::kLanes) {
    typename S::Floats r = S::load_bf16(a.residual + i);
    if (a.y != nullptr) {
      S::store_bf16(a.residual + i, S::add(r, S::load_bf16(a.y + i)));
      r = S::load_bf16(a.residual + i);
    }
    squares = S::fma(r, r, squares);
  }
  for (std::int64_t i = whole; i < a.n; ++i) {
    if (a.y != nullptr)
      a.residual[i] = S::to_bf16(S::to_float(a.residual[i]) + S::to_float(a.y[i]));
    rest += S::to_float(a.residual[i]) * S::to_float(a.residual[i]);
  }
  const float factor = inverse_rms<S>(S::horizontal_sum(squares) + rest, a.n, a.epsilon);
  for (std::int64_t i = 0; i < whole; i += S::kLanes)
    S::store_bf16(a.x + i, S::mul(S::mul(S::load_bf16(a.residual + i), S::set(factor)),
                                  norm_weight<S>(a.weight + i, a.weight_offset)));
  for (std::int64_t i = whole; i < a.n; ++i)
    a.x[i] = S::to_bf16(S::to_float(a.residual[i]) * factor *
                        (a.weight_offset + S::to_float(a.weight[i])));
}

inline constexpr std::int64_t kMaxHeadDim = 1024;

/// The head in fp32, normalised when there are norm weights. head_dim is a multiple of kLanes.
template <typename S>
void load_head(const RotateArgs& a, float* head) {
  typename S::Floats squares = S::zero();
  for (std::int64_t i = 0; i < a.head_dim; i += S::kLanes) {
    const typename S::Floats x = S::load_bf16(a.in + i);
    squares = S::fma(x, x, squares);
    S::store(head + i, x);
  }
  if (a.norm_weight == nullptr) return;
  const float factor = inverse_rms<S>(S::horizontal_sum(squares), a.head_dim, a.epsilon);
  for (std::int64_t i = 0; i < a.head_dim; i += S::kLanes)
    S::store(head + i, S::mul(S::mul(S::load(head + i), S::set(factor)),
                              norm_weight<S>(a.norm_weight + i, a.weight_offset)));
}

template <typename S>
void rotate_head(const RotateArgs& a) {
  alignas(64) float head[kMaxHeadDim];
  load_head<S>(a, head);
  const std::int64_t width = a.width < 0 ? a.head_dim : a.width;
  const std::int64_t half = width / 2;
  const std::int64_t whole = half / S::kLanes * S::kLanes;
  for (std::int64_t i = 0; i < whole; i += S::kLanes) {
    const typename S::Floats low = S::load(head + i);
    const typename S::Floats high = S::load(head + half + i);
    const typename S::Floats cosine = S::load(a.cosine + i);
    const typename S::Floats sine = S::load(a.sine + i);
    S::store_bf16(a.out + i, S::sub(S::mul(low, cosine), S::mul(high, sine)));
    S::store_bf16(a.out + half + i, S::fma(high, cosine, S::mul(low, sine)));
  }
  for (std::int64_t i = whole; i < half; ++i) {
    a.out[i] = S::to_bf16(head[i] * a.cosine[i] - head[i + half] * a.sine[i]);
    a.out[i + half] = S::to_bf16(head[i + half] * a.cosine[i] + head[i] * a.sine[i]);
  }
  for (std::int64_t i = width; i < a.head_dim; ++i) a.out[i] = S::to_bf16(head[i]);
}

/// x / (1 + exp(-z))
template <typename S>
typename S::Floats times_sigmoid(typename S::Floats x, typename S::Floats z) {
  return S::div(x, S::add(S::set(1.0F), S::exp(S::sub(S::zero(), z))));
}

/// x * silu(gate)
template <typename S>
typename S::Floats times_silu(typename S::Floats x, typename S::Floats gate) {
  return S::mul(x, times_sigmoid<S>(gate, gate));
}

/// f(x) of a kind. GELU in its tanh form is x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 x^3)).
template <typename S, Activation kKind>
typename S::Floats activation(typename S::Floats x) {
  if constexpr (kKind == Activation::gelu) {
    const typename S::Floats cube = S::mul(S::mul(x, x), x);
    const typename S::Floats inner = S::fma(cube, S::set(0.044715F), x);
    return times_sigmoid<S>(x, S::mul(inner, S::set(1.5957691216F)));
  } else if constexpr (kKind == Activation::relu_squared) {
    const typename S::Floats positive = S::max(x, S::zero());
    return S::mul(positive, positive);
  } else {
    return times_sigmoid<S>(x, x);
  }
}

template <typename S, Activation kKind>
typename S::Floats activation(const ActivateArgs& a, typename S::Floats up,
                              typename S::Floats gate) {
  if constexpr (kKind == Activation::clamped_swiglu) {
    // min(x, limit) is -max(-x, -limit).
    const typename S::Floats least = S::set(-a.swiglu.limit);
    const auto at_most = [least](typename S::Floats x) {
      return S::sub(S::zero(), S::max(S::sub(S::zero(), x), least));
    };
    const typename S::Floats g = at_most(gate);
    const typename S::Floats u = S::max(at_most(up), least);
    return S::mul(S::add(u, S::set(1.0F)), times_sigmoid<S>(g, S::mul(g, S::set(a.swiglu.alpha))));
  } else {
    return a.gate == nullptr ? activation<S, kKind>(up) : S::mul(up, activation<S, kKind>(gate));
  }
}

template <typename S, Activation kKind>
void activate_all(const ActivateArgs& a) {
  Bf16 up[S::kLanes] = {};
  Bf16 gate[S::kLanes] = {};
  Bf16 out[S::kLanes] = {};
  const Bf16* const gates = a.gate == nullptr ? a.up : a.gate;
  for (std::int64_t i = 0; i < a.n; i += S::kLanes) {
    const std::int64_t left = a.n - i;
    if (left >= S::kLanes) {
      S::store_bf16(a.out + i,
                    activation<S, kKind>(a, S::load_bf16(a.up + i), S::load_bf16(gates + i)));
      continue;
    }
    for (std::int64_t j = 0; j < left; ++j) up[j] = a.up[i + j];
    for (std::int64_t j = 0; j < left; ++j) gate[j] = gates[i + j];
    S::store_bf16(out, activation<S, kKind>(a, S::load_bf16(up), S::load_bf16(gate)));
    for (std::int64_t j = 0; j < left; ++j) a.out[i + j] = out[j];
  }
}

template <typename S>
void activate(const ActivateArgs& a) {
  switch (a.kind) {
    case Activation::silu:
      return activate_all<S, Activation::silu>(a);
    case Activation::gelu:
      return activate_all<S, Activation::gelu>(a);
    case Activation::relu_squared:
      return activate_all<S, Activation::relu_squared>(a);
    case Activation::clamped_swiglu:
      return activate_all<S, Activation::clamped_swiglu>(a);
  }
}

template <typename S>
void weighted_sum(const WeightedSumArgs& a) {
  const std::int64_t whole = a.n / S::kLanes * S::kLanes;
  for (std::int64_t i = 0; i < whole; i += S::kLanes) {
    typename S::Floats sum = S::zero();
    for (std::int64_t row = 0; row < a.count; ++row)
      sum = S::fma(S::load_bf16(a.rows[row] + i), S::set(a.weights[row]), sum);
    S::store_bf16(a.out + i, sum);
  }
  for (std::int64_t i = whole; i < a.n; ++i) {
    float sum = 0.0F;
    for (std::int64_t row = 0; row < a.count; ++row)
      sum += S::to_float(a.rows[row][i]) * a.weights[row];
    a.out[i] = S::to_bf16(sum);
  }
}

template <typename S>
float dot(const Bf16* a, const Bf16* b, std::int64_t n) {
  const std::int64_t whole = n / S::kLanes * S::kLanes;
  typename S::Floats sums = S::zero();
  for (std::int64_t i = 0; i < whole; i += S::kLanes)
    sums = S::fma(S::load_bf16(a + i), S::load_bf16(b + i), sums);
  float rest = 0.0F;
  for (std::int64_t i = whole; i < n; ++i) rest += S::to_float(a[i]) * S::to_float(b[i]);
  return S::horizontal_sum(sums) + rest;
}

template <typename S>
std::int64_t argmax(const Bf16* values, std::int64_t n) {
  const std::int64_t whole = n / S::kLanes * S::kLanes;
  float top = S::to_float(values[n - 1]);
  if (whole > 0) {
    typename S::Floats tops = S::load_bf16(values);
    for (std::int64_t i = S::kLanes; i < whole; i += S::kLanes)
      tops = S::max(tops, S::load_bf16(values + i));
    const float vector_top = S::horizontal_max(tops);
    top = vector_top > top ? vector_top : top;
  }
  for (std::int64_t i = whole; i < n; ++i)
    top = S::to_float(values[i]) > top ? S::to_float(values[i]) : top;
  std::int64_t at = 0;
  while (at < n - 1 && S::to_float(values[at]) < top) ++at;
  return at;
}

template <typename S>
float dot_burst(std::int64_t rounds) {
  constexpr int kChains = 12;  // more than latency x throughput of any dot unit
  const Bf16 ones[2] = {0x3c00, 0x3c00};
  const typename S::Pairs factor = S::set_pair(ones);
  typename S::Floats acc[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) acc[c] = S::set(static_cast<float>(c));
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = S::dot(acc[c], factor, factor);
  }
  typename S::Floats total = S::zero();
  for (int c = 0; c < kChains; ++c) total = S::add(total, acc[c]);
  return S::horizontal_sum(total);
}

/// FLOPs of one round: a pair is two multiplications and two additions.
template <typename S>
constexpr double dot_flops_per_round() {
  return 12.0 * S::kLanes * 4.0;
}

}  // namespace roofcast::detail
