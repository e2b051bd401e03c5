#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "model/reference/weights.hpp"

namespace roofcast {

/// What a layer mixes tokens with.
enum class TinyMixer { attention, gated_delta, kda, lightning, mamba1, mamba2, short_conv, none };

/// Sizes of the state layers of a tiny model. Convolutions of a short_conv layer span the model; in
/// a mamba1 layer all values are channels with key_dim elements of state each; kda and lightning
/// layers have key_heads = value_heads heads of key_dim = value_dim.
struct TinyState {
  std::int64_t key_heads = 1, value_heads = 2, key_dim = 8, value_dim = 16, conv_kernel = 4;
  bool conv_bias = false, bf16_state = false, full_rank_gate = false;
  std::int64_t dt_rank = 4;
};

/// One state layer of a tiny model for one sequence, the plain way: loops in double, values rounded
/// to bf16 only where a model in bf16 stores them.
class NaiveStateLayer {
 public:
  using Vector = std::vector<double>;
  /// Row `row` of a tensor of this layer.
  using Rows = std::function<Vector(Tensor tensor, std::int64_t row, std::int64_t width)>;

  NaiveStateLayer(const TinyState& sizes, std::int64_t hidden_dim, TinyMixer kind, Rows rows)
      : m_(sizes), hidden_dim_(hidden_dim), kind_(kind), rows_(std::move(rows)) {
    const std::int64_t width = kind == TinyMixer::mamba1 ? values() : m_.value_dim;
    for (std::int64_t h = 0; h < heads(); ++h)
      state.emplace_back(size(m_.key_dim), Vector(size(width), 0.0));
    inputs.assign(size(m_.conv_kernel - 1), Vector(size(channels()), 0.0));
  }

  Vector step(const Vector& x) {
    switch (kind_) {
      case TinyMixer::gated_delta:
        return gated_delta(x);
      case TinyMixer::kda:
        return kda(x);
      case TinyMixer::lightning:
        return lightning(x);
      case TinyMixer::mamba1:
        return mamba1(x);
      case TinyMixer::mamba2:
        return mamba2(x);
      default:
        return short_conv(x);
    }
  }

  std::int64_t heads() const {
    if (kind_ == TinyMixer::short_conv) return 0;
    return kind_ == TinyMixer::mamba1 ? 1 : m_.value_heads;
  }
  std::int64_t channels() const {
    if (kind_ == TinyMixer::short_conv) return hidden_dim_;
    return kind_ == TinyMixer::mamba1 ? values() : values() + 2 * keys();
  }

  std::vector<std::vector<Vector>> state;  // by head, key element, value element
  std::vector<Vector> inputs;              // kept by the convolution, by age: the oldest first

 private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

  /// Nearest bf16: 8 significant bits, ties to even.
  static double round_bf16(double x) {
    if (x == 0.0) return 0.0;
    int exponent = 0;
    const double fraction = std::frexp(x, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
  }
  static double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
  static double silu(double x) { return x * sigmoid(x); }
  static double softplus(double x) { return std::log(1.0 + std::exp(x)); }
  static double square_sum(const Vector& x) {
    double sum = 0.0;
    for (const double v : x) sum += v * v;
    return sum;
  }
  static Vector part(const Vector& all, std::int64_t first, std::int64_t count) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }

  std::int64_t keys() const { return m_.key_heads * m_.key_dim; }
  std::int64_t values() const { return m_.value_heads * m_.value_dim; }

  /// `count` rows of a matrix times x.
  Vector product(Tensor tensor, std::int64_t count, const Vector& x,
                 const Vector& bias = {}) const {
    Vector y;
    for (std::int64_t i = 0; i < count; ++i) {
      const Vector w = rows_(tensor, i, static_cast<std::int64_t>(x.size()));
      double sum = bias.empty() ? 0.0 : bias[size(i)];
      for (std::size_t j = 0; j < x.size(); ++j) sum += w[j] * x[j];
      y.push_back(round_bf16(sum));
    }
    return y;
  }
  Vector vector(Tensor tensor, std::int64_t width) const { return rows_(tensor, 0, width); }

  /// Convolution over the kept inputs and x, which is then kept in place of the oldest.
  Vector convolve(const Vector& x, bool bias, bool activate) {
    inputs.push_back(x);
    Vector out;
    for (std::size_t c = 0; c < x.size(); ++c) {
      const Vector taps = rows_(Tensor::conv, static_cast<std::int64_t>(c), m_.conv_kernel);
      double sum = bias ? vector(Tensor::conv_bias, static_cast<std::int64_t>(x.size()))[c] : 0.0;
      for (std::size_t j = 0; j < taps.size(); ++j) sum += taps[j] * inputs[j][c];
      out.push_back(round_bf16(activate ? silu(sum) : sum));
    }
    inputs.erase(inputs.begin());
    return out;
  }

  /// What one head's state gives for `query` once it was decayed and `added` written at `key`.
  Vector update(std::int64_t head, const Vector& key, const Vector& added, const Vector& query) {
    std::vector<Vector>& s = state[size(head)];
    Vector out(added.size(), 0.0);
    for (std::size_t i = 0; i < key.size(); ++i) {
      for (std::size_t j = 0; j < added.size(); ++j) {
        s[i][j] += key[i] * added[j];
        out[j] += s[i][j] * query[i];
        if (m_.bf16_state) s[i][j] = round_bf16(s[i][j]);
      }
    }
    return out;
  }

  void decay(std::int64_t head, double factor) {
    for (Vector& row : state[size(head)])
      for (double& x : row) x *= factor;
  }

  Vector recalled(std::int64_t head, const Vector& key) const {
    Vector out(size(m_.value_dim), 0.0);
    for (std::size_t i = 0; i < key.size(); ++i)
      for (std::size_t j = 0; j < out.size(); ++j) out[j] += state[size(head)][i][j] * key[i];
    return out;
  }

  Vector unit(Vector x) const {
    const double length = std::sqrt(square_sum(x) + 1e-6);
    for (double& v : x) v /= length;
    return x;
  }

  Vector project_qkv(const Vector& x) const {
    Vector mixed = product(Tensor::q, keys(), x);
    for (const auto& [tensor, rows] :
         {std::pair{Tensor::k, keys()}, std::pair{Tensor::v, values()}}) {
      const Vector more = product(tensor, rows, x);
      mixed.insert(mixed.end(), more.begin(), more.end());
    }
    return mixed;
  }

  /// What remains to be written at `key` to make the state recall `value`, by `strength`.
  Vector correction(std::int64_t head, const Vector& key, Vector value, double strength) const {
    const Vector known = recalled(head, key);
    for (std::size_t j = 0; j < value.size(); ++j) value[j] = strength * (value[j] - known[j]);
    return value;
  }

  static double rms_of(const Vector& x) {
    return std::sqrt(square_sum(x) / static_cast<double>(x.size()) + 1e-6);
  }

  Vector kda(const Vector& x) {
    const std::int64_t heads = m_.value_heads;
    const std::int64_t dim = m_.key_dim;
    const Vector mixed = project_qkv(x);
    const Vector slowness = product(Tensor::decay_up, values(), product(Tensor::decay_in, dim, x));
    const Vector gate = m_.full_rank_gate ? product(Tensor::mixer_gate, values(), x)
                                          : product(Tensor::mixer_gate_up, values(),
                                                    product(Tensor::mixer_gate, dim, x));
    const Vector strength = product(Tensor::strength_in, heads, x);
    const Vector rate = vector(Tensor::decay_log, heads);
    const Vector bias = vector(Tensor::time_step_bias, values());
    const Vector weight = vector(Tensor::mixer_norm, dim);
    const Vector c = convolve(mixed, false, true);
    Vector gated;
    for (std::int64_t h = 0; h < heads; ++h) {
      Vector query = unit(part(c, h * dim, dim));
      for (double& q : query) q /= std::sqrt(static_cast<double>(dim));
      const Vector key = unit(part(c, values() + h * dim, dim));
      for (std::int64_t i = 0; i < dim; ++i) {
        const std::size_t channel = size(h * dim + i);
        const double factor =
            std::exp(-std::exp(rate[size(h)]) * softplus(slowness[channel] + bias[channel]));
        for (double& s : state[size(h)][size(i)]) s *= factor;
      }
      Vector out = update(
          h, key,
          correction(h, key, part(c, 2 * values() + h * dim, dim), sigmoid(strength[size(h)])),
          query);
      for (double& v : out) v = round_bf16(v);
      const double rms = rms_of(out);
      for (std::size_t j = 0; j < out.size(); ++j)
        gated.push_back(round_bf16(out[j] / rms * weight[j] * sigmoid(gate[size(h * dim) + j])));
    }
    return product(Tensor::attn_out, hidden_dim_, gated);
  }

  Vector lightning(const Vector& x) {
    const std::int64_t dim = m_.key_dim;
    Vector qkv = project_qkv(x);
    for (double& v : qkv) v = silu(v);
    const Vector rate = vector(Tensor::decay_log, m_.value_heads);
    Vector y;
    for (std::int64_t h = 0; h < m_.value_heads; ++h) {
      decay(h, std::exp(-std::exp(rate[size(h)])));
      for (const double v : update(h, part(qkv, values() + h * dim, dim),
                                   part(qkv, 2 * values() + h * dim, dim), part(qkv, h * dim, dim)))
        y.push_back(round_bf16(v));
    }
    const Vector gate = product(Tensor::mixer_gate, values(), x);
    const Vector weight = vector(Tensor::mixer_norm, values());
    const double rms = rms_of(y);
    for (std::size_t j = 0; j < y.size(); ++j)
      y[j] = round_bf16(y[j] / rms * weight[j] * sigmoid(gate[j]));
    return product(Tensor::attn_out, hidden_dim_, y);
  }

  Vector mamba1(const Vector& x) {
    const Vector in = product(Tensor::mixer_in, 2 * values(), x);
    const Vector c = convolve(part(in, 0, values()), m_.conv_bias, true);
    const Vector selection = product(Tensor::scan_in, m_.dt_rank + 2 * m_.key_dim, c);
    const Vector steps = product(Tensor::time_step, values(), part(selection, 0, m_.dt_rank),
                                 vector(Tensor::time_step_bias, values()));
    const Vector skip = vector(Tensor::skip, values());
    Vector y;
    for (std::int64_t channel = 0; channel < values(); ++channel) {
      const std::size_t at = size(channel);
      const Vector rates = rows_(Tensor::decay_log, channel, m_.key_dim);
      const double dt = softplus(steps[at]);
      double sum = skip[at] * c[at];
      for (std::size_t i = 0; i < rates.size(); ++i) {
        double& s = state[0][i][at];
        s = s * std::exp(-round_bf16(std::exp(rates[i])) * dt) +
            dt * c[at] * selection[size(m_.dt_rank) + i];
        sum += s * selection[size(m_.dt_rank + m_.key_dim) + i];
      }
      y.push_back(round_bf16(sum * silu(in[size(values()) + at])));
    }
    return product(Tensor::attn_out, hidden_dim_, y);
  }

  Vector gated_delta(const Vector& x) {
    const std::int64_t heads = m_.value_heads;
    const Vector mixed = project_qkv(x);
    const Vector gate = product(Tensor::mixer_gate, values(), x);
    const Vector strength = product(Tensor::strength_in, heads, x);
    const Vector slowness = product(Tensor::decay_in, heads, x);
    const Vector rate = vector(Tensor::decay_log, heads);
    const Vector bias = vector(Tensor::time_step_bias, heads);
    const Vector weight = vector(Tensor::mixer_norm, m_.value_dim);
    const Vector c = convolve(mixed, false, true);
    Vector gated;
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t key_head = h * m_.key_heads / heads;
      Vector query = unit(part(c, key_head * m_.key_dim, m_.key_dim));
      for (double& q : query) q /= std::sqrt(static_cast<double>(m_.key_dim));
      const Vector key = unit(part(c, keys() + key_head * m_.key_dim, m_.key_dim));
      decay(h, std::exp(-std::exp(rate[size(h)]) * softplus(slowness[size(h)] + bias[size(h)])));
      const Vector value = part(c, 2 * keys() + h * m_.value_dim, m_.value_dim);
      Vector out = update(h, key, correction(h, key, value, sigmoid(strength[size(h)])), query);
      for (double& v : out) v = round_bf16(v);
      const double rms = rms_of(out);
      for (std::size_t j = 0; j < out.size(); ++j)
        gated.push_back(
            round_bf16(out[j] / rms * weight[j] * silu(gate[size(h * m_.value_dim) + j])));
    }
    return product(Tensor::attn_out, hidden_dim_, gated);
  }

  Vector mamba2(const Vector& x) {
    const std::int64_t heads = m_.value_heads;
    const Vector in = product(Tensor::mixer_in, 2 * values() + 2 * keys() + heads, x);
    const Vector c = convolve(part(in, values(), values() + 2 * keys()), m_.conv_bias, true);
    const Vector rate = vector(Tensor::decay_log, heads);
    const Vector bias = vector(Tensor::time_step_bias, heads);
    const Vector skip = vector(Tensor::skip, heads);
    const Vector weight = vector(Tensor::mixer_norm, values());
    Vector y;
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t group = h * m_.key_heads / heads;
      const double dt = softplus(in[size(2 * values() + 2 * keys() + h)] + bias[size(h)]);
      const Vector input = part(c, h * m_.value_dim, m_.value_dim);
      Vector added = input;
      for (double& v : added) v *= dt;
      decay(h, std::exp(-std::exp(rate[size(h)]) * dt));
      const Vector out = update(h, part(c, values() + group * m_.key_dim, m_.key_dim), added,
                                part(c, values() + keys() + group * m_.key_dim, m_.key_dim));
      for (std::size_t j = 0; j < out.size(); ++j)
        y.push_back(round_bf16(out[j] + skip[size(h)] * input[j]));
    }
    for (std::size_t j = 0; j < y.size(); ++j) y[j] *= silu(in[j]);
    const std::size_t width = y.size() / size(m_.key_heads);
    for (std::size_t first = 0; first < y.size(); first += width) {
      double squares = 0.0;
      for (std::size_t j = first; j < first + width; ++j) squares += y[j] * y[j];
      const double rms = std::sqrt(squares / static_cast<double>(width) + 1e-6);
      for (std::size_t j = first; j < first + width; ++j) y[j] = round_bf16(y[j] / rms * weight[j]);
    }
    return product(Tensor::attn_out, hidden_dim_, y);
  }

  Vector short_conv(const Vector& x) {
    const std::int64_t dim = hidden_dim_;
    const auto bias = [&](Tensor tensor, std::int64_t width) {
      return m_.conv_bias ? vector(tensor, width) : Vector{};
    };
    const Vector in = product(Tensor::mixer_in, 3 * dim, x, bias(Tensor::mixer_in_bias, 3 * dim));
    Vector gated;
    for (std::int64_t i = 0; i < dim; ++i)
      gated.push_back(round_bf16(in[size(i)] * in[size(2 * dim + i)]));
    Vector y = convolve(gated, m_.conv_bias, false);
    for (std::int64_t i = 0; i < dim; ++i) y[size(i)] = round_bf16(y[size(i)] * in[size(dim + i)]);
    return product(Tensor::attn_out, dim, y, bias(Tensor::attn_out_bias, dim));
  }

  TinyState m_;
  std::int64_t hidden_dim_;
  TinyMixer kind_;
  Rows rows_;
};

}  // namespace roofcast
