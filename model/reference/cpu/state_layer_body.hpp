#pragma once

#include "model/reference/cpu/elementwise_body.hpp"

// Kernels beside the recurrence of a state layer. See gemm_body.hpp for how these templates are
// used.
namespace roofcast::detail {

/// Lanes of one vector that exist: all, or the rest at the end of a row. Loads fill up with zeros.
template <typename S>
struct BorderLanes {
  std::int64_t count;

  typename S::Floats load(const Bf16* at) const {
    if (count == S::kLanes) return S::load_bf16(at);
    Bf16 lanes[S::kLanes] = {};
    for (std::int64_t i = 0; i < count; ++i) lanes[i] = at[i];
    return S::load_bf16(lanes);
  }
  void store(Bf16* at, typename S::Floats x) const {
    if (count == S::kLanes) return S::store_bf16(at, x);
    Bf16 lanes[S::kLanes];
    S::store_bf16(lanes, x);
    for (std::int64_t i = 0; i < count; ++i) at[i] = lanes[i];
  }
};

template <typename S>
BorderLanes<S> lanes_from(std::int64_t i, std::int64_t n) {
  return {n - i < S::kLanes ? n - i : S::kLanes};
}

/// The channels of one vector, from channel `c` on.
template <typename S>
void convolve_lanes(const ConvolutionArgs& a, std::int64_t c) {
  const BorderLanes<S> lanes = lanes_from<S>(c, a.n);
  typename S::Floats x = lanes.load(a.x + c);
  if (a.gate != nullptr) {
    Bf16 rounded[S::kLanes];
    S::store_bf16(rounded, S::mul(x, lanes.load(a.gate + c)));
    x = S::load_bf16(rounded);
  }
  const std::int64_t kept = a.kernel - 1;
  typename S::Floats sum = a.bias == nullptr ? S::zero() : lanes.load(a.bias + c);
  for (std::int64_t j = 0; j < kept; ++j) {
    const typename S::Floats input = lanes.load(a.inputs + j * a.n + c);
    sum = S::fma(input, lanes.load(a.taps + j * a.n + c), sum);
    if (j > 0) lanes.store(a.inputs + (j - 1) * a.n + c, input);
  }
  sum = S::fma(x, lanes.load(a.taps + kept * a.n + c), sum);
  if (kept > 0) lanes.store(a.inputs + (kept - 1) * a.n + c, x);
  lanes.store(a.out + c, a.silu ? times_sigmoid<S>(sum, sum) : sum);
}

template <typename S>
void convolve(const ConvolutionArgs& a) {
  for (std::int64_t c = 0; c < a.n; c += S::kLanes) convolve_lanes<S>(a, c);
}

template <typename S>
void multiply(const Bf16* a, const Bf16* b, Bf16* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += S::kLanes) {
    const BorderLanes<S> lanes = lanes_from<S>(i, n);
    lanes.store(out + i, S::mul(lanes.load(a + i), lanes.load(b + i)));
  }
}

template <typename S>
void store_floats(const BorderLanes<S>& lanes, float* at, typename S::Floats x) {
  if (lanes.count == S::kLanes) return S::store(at, x);
  float all[S::kLanes];
  S::store(all, x);
  for (std::int64_t i = 0; i < lanes.count; ++i) at[i] = all[i];
}

template <typename S>
void silu(const Bf16* x, float* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += S::kLanes) {
    const BorderLanes<S> lanes = lanes_from<S>(i, n);
    const typename S::Floats v = lanes.load(x + i);
    store_floats<S>(lanes, out + i, times_sigmoid<S>(v, v));
  }
}

/// log(1 + exp(x)) = max(x, 0) + log(1 + t) with t = exp(-|x|), and log(1 + t) = 2 atanh(s) with
/// s = t / (2 + t) <= 1/3, whose series is cut after s^13.
template <typename S>
typename S::Floats softplus(typename S::Floats x) {
  const typename S::Floats negative = S::sub(S::zero(), x);
  const typename S::Floats t = S::exp(S::sub(S::zero(), S::max(x, negative)));
  const typename S::Floats s = S::div(t, S::add(S::set(2.0F), t));
  const typename S::Floats square = S::mul(s, s);
  typename S::Floats series = S::set(1.0F / 13.0F);
  for (const float divisor : {11.0F, 9.0F, 7.0F, 5.0F, 3.0F, 1.0F})
    series = S::fma(series, square, S::set(1.0F / divisor));
  return S::fma(S::mul(s, S::set(2.0F)), series, S::max(x, S::zero()));
}

template <typename S>
void channel_decays(const ChannelDecayArgs& a) {
  for (std::int64_t i = 0; i < a.n; i += S::kLanes) {
    const BorderLanes<S> lanes = lanes_from<S>(i, a.n);
    float bias[S::kLanes] = {};
    for (std::int64_t j = 0; j < lanes.count; ++j) bias[j] = a.bias[i + j];
    const typename S::Floats step = softplus<S>(S::add(lanes.load(a.x + i), S::load(bias)));
    store_floats<S>(lanes, a.out + i, S::exp(S::mul(step, S::set(-a.rate))));
  }
}

/// The channels of one vector. Their states lie 16 channels apart.
template <typename S>
void scan_lanes(const ScanArgs& a, std::int64_t channel) {
  const typename S::Floats x = S::load_bf16(a.x + channel);
  const typename S::Floats dt = softplus<S>(S::load_bf16(a.steps + channel));
  const typename S::Floats taken = S::mul(dt, x);
  const typename S::Floats minus_dt = S::sub(S::zero(), dt);
  const std::int64_t first =
      channel / kStateColumns * kStateColumns * a.state_dim + channel % kStateColumns;
  typename S::Floats sum = S::mul(S::load_bf16(a.skip + channel), x);
  for (std::int64_t i = 0; i < a.state_dim; ++i) {
    float* const state = a.state + first + i * kStateColumns;
    const typename S::Floats rate = S::load_bf16(a.rates + first + i * kStateColumns);
    const typename S::Floats decay = S::exp(S::mul(rate, minus_dt));
    const typename S::Floats now = S::fma(S::load(state), decay, S::mul(taken, S::set(a.b[i])));
    S::store(state, now);
    sum = S::fma(now, S::set(a.c[i]), sum);
  }
  S::store_bf16(a.out + channel, times_silu<S>(sum, S::load_bf16(a.gate + channel)));
}

template <typename S>
void scan(const ScanArgs& a) {
  for (std::int64_t c = 0; c < a.n; c += S::kLanes) scan_lanes<S>(a, c);
}

/// What is normalised: x, or x silu(gate).
template <typename S>
typename S::Floats norm_input(const GatedNormArgs& a, const BorderLanes<S>& lanes, std::int64_t i) {
  const typename S::Floats x = lanes.load(a.x + i);
  return a.order == NormGate::silu_before ? times_silu<S>(x, lanes.load(a.gate + i)) : x;
}

template <typename S>
typename S::Floats gate_after(const GatedNormArgs& a, typename S::Floats x,
                              typename S::Floats gate) {
  if (a.order == NormGate::silu_after) return times_silu<S>(x, gate);
  return a.order == NormGate::sigmoid_after ? times_sigmoid<S>(x, gate) : x;
}

template <typename S>
void gated_norm(const GatedNormArgs& a) {
  typename S::Floats squares = S::zero();
  for (std::int64_t i = 0; i < a.n; i += S::kLanes) {
    const typename S::Floats x = norm_input<S>(a, lanes_from<S>(i, a.n), i);
    squares = S::fma(x, x, squares);
  }
  const float factor = inverse_rms<S>(S::horizontal_sum(squares), a.n, a.epsilon);
  for (std::int64_t i = 0; i < a.n; i += S::kLanes) {
    const BorderLanes<S> lanes = lanes_from<S>(i, a.n);
    const typename S::Floats normed =
        S::mul(S::mul(norm_input<S>(a, lanes, i), S::set(factor)), lanes.load(a.weight + i));
    lanes.store(a.out + i, gate_after<S>(a, normed, lanes.load(a.gate + i)));
  }
}

}  // namespace roofcast::detail
