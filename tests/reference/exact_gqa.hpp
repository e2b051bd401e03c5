#pragma once

#include <algorithm>
#include <cmath>
#include <map>

#include "model/attention/attention.hpp"
#include "model/reference/model_semantics.hpp"
#include "tests/reference/exact_weights.hpp"

namespace roofcast {

/// Turns pairs (i, i + width / 2) of the first `width` elements of a head.
inline void exact_rotate(Vector& head, std::int64_t position, std::int64_t width, double theta) {
  const auto half = static_cast<std::size_t>(width / 2);
  for (std::size_t i = 0; i < half; ++i) {
    const double angle =
        static_cast<double>(position) *
        std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(width));
    const double low = head[i];
    const double high = head[i + half];
    head[i] = low * std::cos(angle) - high * std::sin(angle);
    head[i + half] = high * std::cos(angle) + low * std::sin(angle);
  }
}

/// Grouped-query attention in double, one query head at a time.
class ExactGqa {
 public:
  ExactGqa(ExactWeights& weights, const ModelSemantics& semantics)
      : w_(weights), semantics_(semantics) {}

  Vector run(const GroupedQueryAttention& a, int layer, std::int64_t position, const Vector& x) {
    return attend(a.shape, semantics_.rotary, 0, layer, position, x);
  }
  Vector run(const SlidingWindowAttention& a, int layer, std::int64_t position, const Vector& x) {
    return attend(a.shape, semantics_.local_rotary.value_or(semantics_.rotary), a.window, layer,
                  position, x);
  }

 private:
  using Heads = std::vector<Vector>;

  Heads heads_of(Tensor tensor, Tensor bias, std::int64_t count, const GqaShape& s, int layer,
                 const Vector& x) {
    Vector all = w_.times(tensor, layer, count * s.head_dim, x);
    if (s.qkv_bias) add_to(all, w_.row(bias, layer, 0, count * s.head_dim));
    Heads heads;
    for (auto at = all.begin(); at != all.end(); at += s.head_dim)
      heads.emplace_back(at, at + s.head_dim);
    return heads;
  }

  void norm_and_rotate(Heads& heads, Tensor norm, const GqaShape& s, const RotarySemantics& rotary,
                       int layer, std::int64_t position) {
    for (Vector& head : heads) {
      if (s.qk_norm == QkNorm::head)
        head = exact_norm(head, w_.row(norm, layer, 0, s.head_dim),
                          static_cast<double>(semantics_.norm_epsilon),
                          static_cast<double>(semantics_.norm_offset));
      const double width = rotary.share * static_cast<double>(s.head_dim);
      exact_rotate(head, position, std::llround(width), rotary.theta);
    }
  }

  Vector attend(const GqaShape& s, const RotarySemantics& rotary, std::int64_t window, int layer,
                std::int64_t position, const Vector& x) {
    Heads queries = heads_of(Tensor::q, Tensor::q_bias, s.n_heads, s, layer, x);
    Heads keys = heads_of(Tensor::k, Tensor::k_bias, s.n_kv_heads, s, layer, x);
    norm_and_rotate(queries, Tensor::q_norm, s, rotary, layer, position);
    norm_and_rotate(keys, Tensor::k_norm, s, rotary, layer, position);
    keys_[layer].push_back(keys);
    values_[layer].push_back(heads_of(Tensor::v, Tensor::v_bias, s.n_kv_heads, s, layer, x));
    const std::int64_t first = window > 0 ? std::max(std::int64_t{0}, position - window + 1) : 0;
    Vector mixed;
    for (std::int64_t h = 0; h < s.n_heads; ++h) {
      const Vector out =
          mix(s, layer, h, static_cast<std::size_t>(first), queries[static_cast<std::size_t>(h)]);
      mixed.insert(mixed.end(), out.begin(), out.end());
    }
    if (s.output_gate == OutputGate::elementwise) {
      const auto width = static_cast<std::int64_t>(mixed.size());
      Vector gates = w_.times(Tensor::attn_gate, layer, width, x);
      if (s.qkv_bias) add_to(gates, w_.row(Tensor::attn_gate_bias, layer, 0, width));
      for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] *= sigmoid(gates[i]);
    }
    const auto hidden = static_cast<std::int64_t>(x.size());
    Vector y = w_.times(Tensor::attn_out, layer, hidden, mixed);
    if (s.o_bias) add_to(y, w_.row(Tensor::attn_out_bias, layer, 0, hidden));
    return y;
  }

  Vector mix(const GqaShape& s, int layer, std::int64_t head, std::size_t first, const Vector& q) {
    const auto kv = static_cast<std::size_t>(head / (s.n_heads / s.n_kv_heads));
    const double scale = semantics_.query_scale > 0.0F
                             ? static_cast<double>(semantics_.query_scale)
                             : 1.0 / std::sqrt(static_cast<double>(s.head_dim));
    double total = 0.0;
    if (s.sinks)
      total = std::exp(w_.row(Tensor::sinks, layer, 0, s.n_heads)[static_cast<std::size_t>(head)]);
    Vector out(q.size(), 0.0);
    for (std::size_t t = first; t < keys_[layer].size(); ++t) {
      const Vector& key = keys_[layer][t][kv];
      const double score = std::inner_product(q.begin(), q.end(), key.begin(), 0.0);
      const double weight = std::exp(score * scale);
      total += weight;
      add_to(out, values_[layer][t][kv], weight);
    }
    for (double& v : out) v /= total;
    return out;
  }

  ExactWeights& w_;
  const ModelSemantics& semantics_;
  std::map<int, std::vector<Heads>> keys_, values_;  // by layer, then token
};

}  // namespace roofcast
