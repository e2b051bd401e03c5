#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "model/attention/mla_sparse.hpp"
#include "model/reference/weights.hpp"

namespace roofcast {

/// How a model runs latent attention.
enum class LatentForm { absorbed, expanded, sparse };

/// Multi-head latent attention of all layers for one sequence, the plain way: loops in double,
/// values rounded to bf16 only where a model in bf16 stores them.
class NaiveLatent {
 public:
  using Vector = std::vector<double>;

  /// Layers other than the first take its choice of tokens when `shared_choice`.
  NaiveLatent(const SparseLatentAttention& kind, LatentForm form, bool shared_choice,
              std::int64_t n_layers, std::int64_t hidden_dim, WeightSource source)
      : kind_(kind),
        s_(kind.shape),
        form_(form),
        shared_choice_(shared_choice),
        hidden_dim_(hidden_dim),
        source_(std::move(source)),
        layers_(size(n_layers)) {}

  /// What one layer caches, a vector per token.
  struct Layer {
    std::vector<Vector> latents;       // kv_lora_rank, then the rotated part
    std::vector<Vector> keys, values;  // of all heads
    std::vector<Vector> index_keys;
    std::vector<std::int64_t> other_choice;  // see hint_choice
  };
  Layer& layer(int index) { return layers_[size(index)]; }

  /// Tokens that another decoder chose in a layer of the next step. They count where this one's own
  /// choice is in doubt: scores may be rounded either way when sums differ in their last bits.
  void hint_choice(int index, std::vector<std::int64_t> tokens) {
    layer(index).other_choice = std::move(tokens);
  }
  int hints_needed() const { return hints_needed_; }

  /// Output of a layer for input x of the token at `position`, which goes to the end of its cache.
  Vector attend(int index, std::int64_t position, const Vector& x) {
    Layer& own = layer(index);
    const Vector q_latent = s_.q_lora_rank > 0
                                ? norm(matrix(Tensor::q_down, index, s_.q_lora_rank, x),
                                       row(Tensor::q_latent_norm, index, 0, s_.q_lora_rank))
                                : x;
    const Vector q = matrix(Tensor::q, index, s_.n_heads * query_dim(), q_latent);
    const Vector raw = matrix(Tensor::kv_down, index, s_.kv_lora_rank + s_.qk_rope_head_dim, x);
    Vector latent =
        norm(part(raw, 0, s_.kv_lora_rank), row(Tensor::kv_latent_norm, index, 0, s_.kv_lora_rank));
    append(latent, rotated(part(raw, s_.kv_lora_rank, s_.qk_rope_head_dim), position));
    own.latents.push_back(latent);
    if (form_ == LatentForm::expanded) expand(index, latent);
    if (form_ == LatentForm::sparse && !(shared_choice_ && index > 0))
      choose(index, position, x, q_latent);
    if (form_ != LatentForm::sparse) {
      seen_.resize(form_ == LatentForm::expanded ? own.keys.size() : own.latents.size());
      std::iota(seen_.begin(), seen_.end(), 0);
    }
    Vector mixed;
    for (std::int64_t h = 0; h < s_.n_heads; ++h) {
      const Vector head = part(q, h * query_dim(), query_dim());
      const Vector rope = rotated(part(head, s_.qk_nope_head_dim, s_.qk_rope_head_dim), position);
      const Vector nope = part(head, 0, s_.qk_nope_head_dim);
      append(mixed, form_ == LatentForm::expanded ? expanded_head(own, h, nope, rope)
                                                  : absorbed_head(index, h, nope, rope));
    }
    return matrix(Tensor::attn_out, index, hidden_dim_, mixed);
  }

 private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }
  std::int64_t query_dim() const { return s_.qk_nope_head_dim + s_.qk_rope_head_dim; }
  /// First row of a head in kv_up.
  std::int64_t up_row(std::int64_t head) const {
    return head * (s_.qk_nope_head_dim + s_.v_head_dim);
  }

  /// Nearest bf16: 8 significant bits, ties to even.
  static double round_bf16(double x) {
    if (x == 0.0) return 0.0;
    int exponent = 0;
    const double fraction = std::frexp(x, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
  }
  static Vector rounded(Vector x) {
    for (double& v : x) v = round_bf16(v);
    return x;
  }
  static Vector part(const Vector& x, std::int64_t first, std::int64_t width) {
    return {x.begin() + first, x.begin() + first + width};
  }
  static void append(Vector& to, const Vector& more) {
    to.insert(to.end(), more.begin(), more.end());
  }
  static double dot(const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }

  Vector row(Tensor tensor, int index, std::int64_t at, std::int64_t width) const {
    std::vector<Bf16> bits(size(width));
    source_({tensor, index, at, width}, bits.data());
    Vector out;
    for (const Bf16 b : bits) out.push_back(static_cast<double>(bf16_to_float(b)));
    return out;
  }
  Vector matrix(Tensor tensor, int index, std::int64_t rows, const Vector& x,
                std::int64_t first = 0) const {
    Vector y;
    for (std::int64_t i = 0; i < rows; ++i)
      y.push_back(
          round_bf16(dot(row(tensor, index, first + i, static_cast<std::int64_t>(x.size())), x)));
    return y;
  }

  static Vector norm(const Vector& x, const Vector& weight) {
    const double rms = std::sqrt(dot(x, x) / static_cast<double>(x.size()) + 1e-6);
    Vector y;
    for (std::size_t i = 0; i < x.size(); ++i) y.push_back(round_bf16(x[i] / rms * weight[i]));
    return y;
  }
  Vector layer_norm(int index, const Vector& x) const {
    const auto n = static_cast<double>(x.size());
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
    double variance = 0.0;
    for (const double v : x) variance += (v - mean) * (v - mean) / n;
    const Vector weight = row(Tensor::index_k_norm, index, 0, kind_.index_head_dim);
    const Vector bias = row(Tensor::index_k_norm_bias, index, 0, kind_.index_head_dim);
    Vector y;
    for (std::size_t i = 0; i < x.size(); ++i)
      y.push_back(round_bf16((x[i] - mean) / std::sqrt(variance + 1e-6) * weight[i] + bias[i]));
    return y;
  }

  static Vector rotated(const Vector& x, std::int64_t position) {
    const std::size_t half = x.size() / 2;
    Vector out(x.size());
    for (std::size_t i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(position) *
          std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(x.size()));
      out[i] = round_bf16(x[i] * std::cos(angle) - x[i + half] * std::sin(angle));
      out[i + half] = round_bf16(x[i + half] * std::cos(angle) + x[i] * std::sin(angle));
    }
    return out;
  }

  /// Softmax weights of the seen tokens for scores against `key_of` each.
  template <typename KeyOf>
  Vector weights(const Vector& q, KeyOf key_of) const {
    Vector w;
    for (const std::int64_t t : seen_)
      w.push_back(std::exp(dot(q, key_of(size(t))) / std::sqrt(static_cast<double>(query_dim()))));
    const double total = std::accumulate(w.begin(), w.end(), 0.0);
    for (double& v : w) v /= total;
    return w;
  }
  template <typename ValueOf>
  Vector mean(const Vector& w, std::int64_t width, ValueOf value_of) const {
    Vector out(size(width), 0.0);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const Vector value = value_of(size(seen_[i]));
      for (std::size_t d = 0; d < out.size(); ++d) out[d] += w[i] * value[d];
    }
    return rounded(out);
  }

  Vector absorbed_head(int index, std::int64_t h, const Vector& nope, const Vector& rope) {
    Vector q(size(s_.kv_lora_rank), 0.0);
    for (std::size_t i = 0; i < nope.size(); ++i) {
      const Vector up =
          row(Tensor::kv_up, index, up_row(h) + static_cast<std::int64_t>(i), s_.kv_lora_rank);
      for (std::size_t j = 0; j < q.size(); ++j) q[j] += up[j] * nope[i];
    }
    q = rounded(q);
    append(q, rope);
    const Layer& own = layer(index);
    const Vector w = weights(q, [&](std::size_t t) { return own.latents[t]; });
    const Vector mixed = mean(w, s_.kv_lora_rank, [&](std::size_t t) { return own.latents[t]; });
    return matrix(Tensor::kv_up, index, s_.v_head_dim, mixed, up_row(h) + s_.qk_nope_head_dim);
  }

  void expand(int index, const Vector& latent) {
    const Vector source = part(latent, 0, s_.kv_lora_rank);
    Vector keys;
    Vector values;
    for (std::int64_t h = 0; h < s_.n_heads; ++h) {
      append(keys, matrix(Tensor::kv_up, index, s_.qk_nope_head_dim, source, up_row(h)));
      append(keys, part(latent, s_.kv_lora_rank, s_.qk_rope_head_dim));
      append(values,
             matrix(Tensor::kv_up, index, s_.v_head_dim, source, up_row(h) + s_.qk_nope_head_dim));
    }
    layer(index).keys.push_back(keys);
    layer(index).values.push_back(values);
  }

  Vector expanded_head(const Layer& own, std::int64_t h, const Vector& nope,
                       const Vector& rope) const {
    Vector q = nope;
    append(q, rope);
    const Vector w =
        weights(q, [&](std::size_t t) { return part(own.keys[t], h * query_dim(), query_dim()); });
    return mean(w, s_.v_head_dim, [&](std::size_t t) {
      return part(own.values[t], h * s_.v_head_dim, s_.v_head_dim);
    });
  }

  /// Rotates the first part of an index vector, as wide as the attention's.
  Vector index_rotated(const Vector& x, std::int64_t position) const {
    Vector out = rotated(part(x, 0, s_.qk_rope_head_dim), position);
    append(out, part(x, s_.qk_rope_head_dim, kind_.index_head_dim - s_.qk_rope_head_dim));
    return out;
  }

  void choose(int index, std::int64_t position, const Vector& x, const Vector& q_latent) {
    Layer& own = layer(index);
    const Vector q = matrix(Tensor::index_q, index, kind_.index_n_heads * kind_.index_head_dim,
                            s_.q_lora_rank > 0 ? q_latent : x);
    const Vector key = matrix(Tensor::index_k, index, kind_.index_head_dim, x);
    const Vector head_weights = matrix(Tensor::index_weights, index, kind_.index_n_heads, x);
    own.index_keys.push_back(index_rotated(layer_norm(index, key), position));
    Vector scores(own.index_keys.size(), 0.0);
    for (std::int64_t h = 0; h < kind_.index_n_heads; ++h) {
      const Vector head =
          index_rotated(part(q, h * kind_.index_head_dim, kind_.index_head_dim), position);
      for (std::size_t t = 0; t < scores.size(); ++t)
        scores[t] += head_weights[size(h)] * std::max(0.0, dot(head, own.index_keys[t]));
    }
    seen_ = best(scores, own.other_choice);
  }

  /// Tokens with the largest scores, ascending; `other` instead where each difference is within a
  /// few roundings of the scores.
  std::vector<std::int64_t> best(const Vector& scores, const std::vector<std::int64_t>& other) {
    std::vector<std::int64_t> own(scores.size());
    std::iota(own.begin(), own.end(), 0);
    std::stable_sort(own.begin(), own.end(), [&](std::int64_t a, std::int64_t b) {
      return scores[size(a)] > scores[size(b)];
    });
    own.resize(std::min(own.size(), size(kind_.index_topk)));
    double largest = 0.0;
    for (const double score : scores) largest = std::max(largest, std::fabs(score));
    const double least = scores[size(own.back())];
    const double doubt = 4.0 / 256.0 * largest;
    std::sort(own.begin(), own.end());
    if (other.size() != own.size() || other == own) return own;
    for (std::int64_t t = 0; t < static_cast<std::int64_t>(scores.size()); ++t) {
      const bool chosen = std::binary_search(other.begin(), other.end(), t);
      if (scores[size(t)] < least - doubt ? chosen : scores[size(t)] > least + doubt && !chosen)
        return own;
    }
    ++hints_needed_;
    return other;
  }

  SparseLatentAttention kind_;
  MlaShape s_;
  LatentForm form_;
  bool shared_choice_;
  std::int64_t hidden_dim_;
  WeightSource source_;
  std::vector<Layer> layers_;
  std::vector<std::int64_t> seen_;  // by the newest token, kept for layers that share the choice
  int hints_needed_ = 0;
};

}  // namespace roofcast
