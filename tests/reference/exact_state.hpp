#pragma once

#include <cmath>
#include <map>

#include "model/attention/attention.hpp"
#include "model/reference/model_semantics.hpp"
#include "tests/reference/exact_weights.hpp"

namespace roofcast {

/// Layers with a state in double, one token at a time, as their papers write the recurrence.
class ExactState {
 public:
  ExactState(ExactWeights& weights, const ModelSemantics& semantics)
      : w_(weights), epsilon_(static_cast<double>(semantics.norm_epsilon)) {}

  /// Gated DeltaNet (arXiv:2412.06464, eq. 10).
  Vector run(const GatedDeltaNet& d, int layer, const Vector& x) {
    const std::int64_t keys = d.n_key_heads * d.key_head_dim;
    const std::int64_t values = d.n_value_heads * d.value_head_dim;
    Vector mixed = w_.times(Tensor::q, layer, keys, x);
    append(mixed, w_.times(Tensor::k, layer, keys, x));
    append(mixed, w_.times(Tensor::v, layer, values, x));
    mixed = convolved(mixed, layer, d.conv_kernel, {});
    const Vector gates = w_.times(Tensor::mixer_gate, layer, values, x);
    const Vector strengths = w_.times(Tensor::strength_in, layer, d.n_value_heads, x);
    const Vector decays = w_.times(Tensor::decay_in, layer, d.n_value_heads, x);
    const Vector logs = w_.row(Tensor::decay_log, layer, 0, d.n_value_heads);
    const Vector biases = w_.row(Tensor::time_step_bias, layer, 0, d.n_value_heads);
    Vector out;
    for (std::int64_t h = 0; h < d.n_value_heads; ++h) {
      const auto at = static_cast<std::size_t>(h);
      const std::int64_t key_head = h / (d.n_value_heads / d.n_key_heads);
      Vector query = unit(part(mixed, key_head, d.key_head_dim));
      const Vector key = unit(part(mixed, d.n_key_heads + key_head, d.key_head_dim));
      for (double& q : query) q /= std::sqrt(static_cast<double>(d.key_head_dim));
      const Vector value(mixed.begin() + 2 * keys + h * d.value_head_dim,
                         mixed.begin() + 2 * keys + (h + 1) * d.value_head_dim);
      const double decay = std::exp(-std::exp(logs[at]) * softplus_of(decays[at] + biases[at]));
      Vector y = delta_step(states_[{layer, h}], query, key, value, decay, sigmoid(strengths[at]));
      y = exact_norm(y, w_.row(Tensor::mixer_norm, layer, 0, d.value_head_dim), epsilon_, 0.0);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] *= silu(gates[at * y.size() + i]);
      append(out, y);
    }
    return w_.times(Tensor::attn_out, layer, static_cast<std::int64_t>(x.size()), out);
  }

  /// Mamba-2 (arXiv:2405.21060), with the grouped norm behind the gate of Nemotron-H.
  Vector run(const Mamba2& m, int layer, const Vector& x) {
    const std::int64_t inner = m.n_heads * m.head_dim;
    const std::int64_t shared = m.n_groups * m.state_dim;
    const Vector in = w_.times(Tensor::mixer_in, layer, 2 * inner + 2 * shared + m.n_heads, x);
    const Vector gates(in.begin(), in.begin() + inner);
    const Vector steps(in.end() - m.n_heads, in.end());
    Vector mixed(in.begin() + inner, in.end() - m.n_heads);
    const Vector bias =
        m.conv_bias ? w_.row(Tensor::conv_bias, layer, 0, inner + 2 * shared) : Vector{};
    mixed = convolved(mixed, layer, m.conv_kernel, bias);
    Vector y;
    for (std::int64_t h = 0; h < m.n_heads; ++h) append(y, mamba_head(m, layer, h, mixed, steps));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= silu(gates[i]);
    const Vector weight = w_.row(Tensor::mixer_norm, layer, 0, inner);
    Vector out;
    for (std::int64_t g = 0; g < m.n_groups; ++g)
      append(out, exact_norm(part(y, g, inner / m.n_groups), part(weight, g, inner / m.n_groups),
                             epsilon_, 0.0));
    return w_.times(Tensor::attn_out, layer, static_cast<std::int64_t>(x.size()), out);
  }

 private:
  using State = std::vector<Vector>;  // (keys, values)

  static void append(Vector& to, const Vector& more) {
    to.insert(to.end(), more.begin(), more.end());
  }
  static Vector part(const Vector& all, std::int64_t index, std::int64_t width) {
    return {all.begin() + index * width, all.begin() + (index + 1) * width};
  }
  static double silu(double x) { return x * sigmoid(x); }
  static double softplus_of(double x) { return std::log1p(std::exp(x)); }
  static Vector unit(Vector x) {
    const double squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
    for (double& v : x) v /= std::sqrt(squares + 1e-6);
    return x;
  }

  /// The last `taps` inputs of each channel by its weights, then SiLU.
  Vector convolved(const Vector& newest, int layer, std::int64_t taps, const Vector& bias) {
    std::vector<Vector>& past = inputs_[layer];
    past.push_back(newest);
    Vector y = bias.empty() ? Vector(newest.size(), 0.0) : bias;
    for (std::size_t c = 0; c < newest.size(); ++c) {
      const Vector& weights = w_.row(Tensor::conv, layer, static_cast<std::int64_t>(c), taps);
      for (std::size_t t = 0; t < weights.size() && t < past.size(); ++t)
        y[c] += weights[weights.size() - 1 - t] * past[past.size() - 1 - t][c];
      y[c] = silu(y[c]);
    }
    return y;
  }

  /// S = decay S; S += k (strength (v - S^T k))^T; S^T q.
  static Vector delta_step(State& state, const Vector& query, const Vector& key,
                           const Vector& value, double decay, double strength) {
    state.resize(key.size(), Vector(value.size(), 0.0));
    Vector recalled(value.size(), 0.0);
    for (std::size_t i = 0; i < key.size(); ++i) {
      for (double& s : state[i]) s *= decay;
      add_to(recalled, state[i], key[i]);
    }
    Vector out(value.size(), 0.0);
    for (std::size_t i = 0; i < key.size(); ++i) {
      for (std::size_t j = 0; j < value.size(); ++j)
        state[i][j] += key[i] * strength * (value[j] - recalled[j]);
      add_to(out, state[i], query[i]);
    }
    return out;
  }

  Vector mamba_head(const Mamba2& m, int layer, std::int64_t head, const Vector& mixed,
                    const Vector& steps) {
    const auto at = static_cast<std::size_t>(head);
    const std::int64_t inner = m.n_heads * m.head_dim;
    const std::int64_t group = head / (m.n_heads / m.n_groups);
    const Vector x = part(mixed, head, m.head_dim);
    const auto shared = [&](std::int64_t index) {
      const auto from = mixed.begin() + inner + index * m.state_dim;
      return Vector(from, from + m.state_dim);
    };
    const Vector b = shared(group);
    const Vector c = shared(m.n_groups + group);
    const double step =
        softplus_of(steps[at] + w_.row(Tensor::time_step_bias, layer, 0, m.n_heads)[at]);
    const double rate = std::exp(w_.row(Tensor::decay_log, layer, 0, m.n_heads)[at]);
    const double skip = w_.row(Tensor::skip, layer, 0, m.n_heads)[at];
    State& state = states_[{layer, head}];
    state.resize(b.size(), Vector(x.size(), 0.0));
    Vector y(x.size(), 0.0);
    for (std::size_t i = 0; i < b.size(); ++i) {
      for (std::size_t j = 0; j < x.size(); ++j)
        state[i][j] = std::exp(-rate * step) * state[i][j] + step * b[i] * x[j];
      add_to(y, state[i], c[i]);
    }
    add_to(y, x, skip);
    return y;
  }

  ExactWeights& w_;
  double epsilon_;
  std::map<int, std::vector<Vector>> inputs_;             // of convolutions, by layer, then token
  std::map<std::pair<int, std::int64_t>, State> states_;  // by layer and head
};

}  // namespace roofcast
