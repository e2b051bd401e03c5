#pragma once

#include <compare>

namespace roofcast {

/// A quantity whose dimension is byte^B * FLOP^F * second^S; `value` is always in those base units.
/// Prefixes (k, G, Ki, ...) exist in the spec reader and in the printer only.
template <int B, int F, int S>
struct Quantity {
  double value = 0.0;

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity o) const { return {value + o.value}; }
  constexpr Quantity operator-(Quantity o) const { return {value - o.value}; }
  constexpr Quantity operator*(double factor) const { return {value * factor}; }
  constexpr Quantity operator/(double divisor) const { return {value / divisor}; }
  constexpr Quantity& operator+=(Quantity o) {
    value += o.value;
    return *this;
  }
};

template <int B, int F, int S>
constexpr Quantity<B, F, S> operator*(double factor, Quantity<B, F, S> q) {
  return {factor * q.value};
}

template <int B, int F, int S, int B2, int F2, int S2>
constexpr Quantity<B + B2, F + F2, S + S2> operator*(Quantity<B, F, S> a, Quantity<B2, F2, S2> b) {
  return {a.value * b.value};
}

template <int B, int F, int S, int B2, int F2, int S2>
constexpr Quantity<B - B2, F - F2, S - S2> operator/(Quantity<B, F, S> a, Quantity<B2, F2, S2> b) {
  return {a.value / b.value};
}

/// Two quantities of one dimension divide to a plain number.
template <int B, int F, int S>
constexpr double operator/(Quantity<B, F, S> a, Quantity<B, F, S> b) {
  return a.value / b.value;
}

using Bytes = Quantity<1, 0, 0>;
using Flops = Quantity<0, 1, 0>;  // a count of operations; the rate is FlopsPerSecond
using Seconds = Quantity<0, 0, 1>;
using BytesPerSecond = Quantity<1, 0, -1>;
using FlopsPerSecond = Quantity<0, 1, -1>;
using FlopsPerByte = Quantity<-1, 1, 0>;  // arithmetic intensity
using Hertz = Quantity<0, 0, -1>;

}  // namespace roofcast
