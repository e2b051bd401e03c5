#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "model/reference/weights.hpp"
#include "tests/reference/naive_state.hpp"

namespace roofcast {

/// Sizes of a tiny model for the naive decoder. Layers from `first_dense` on have experts when
/// there are any.
struct TinyModel {
  std::int64_t n_layers = 1, hidden_dim = 32, n_heads = 2, n_kv_heads = 1, head_dim = 16;
  std::int64_t ffn_dim = 48, vocab_size = 64;
  bool qk_norm = false, qkv_bias = false, o_bias = false, ffn_bias = false;
  bool gated = true, tied = true;
  bool post_norms = false, sinks = false;
  /// Layers attend to the last `window` tokens, or inside chunks of `chunk`; but every
  /// `whole_every`-th to all.
  std::int64_t window = 0, chunk = 0, whole_every = 0;

  bool is_local(int layer) const {
    return (window > 0 || chunk > 0) && (whole_every == 0 || (layer + 1) % whole_every != 0);
  }
  /// The first position that the token at `position` sees, which sees itself in any case.
  std::int64_t first_seen(int layer, std::int64_t position) const {
    if (!is_local(layer)) return 0;
    if (chunk > 0) return position - position % chunk;
    return position < window ? 0 : position - window + 1;
  }
  std::int64_t n_experts = 0, n_experts_per_token = 1, expert_dim = 0, first_dense = 0;
  std::int64_t n_shared_experts = 0, shared_expert_dim = 0, dense_dim = 0;
  bool router_bias = false, shared_gate = false;
  std::string_view k_format = "bf16", v_format = "bf16";  // of the cache

  bool has_experts(std::int64_t layer) const { return n_experts > 0 && layer >= first_dense; }

  /// Repeated over the layers: attention and a feed-forward part in each when empty.
  std::vector<TinyMixer> mixers = {};
  std::vector<bool> has_ffns = {};
  TinyState state = {};

  TinyMixer mixer(std::size_t layer) const {
    return mixers.empty() ? TinyMixer::attention : mixers[layer % mixers.size()];
  }
  bool attends(int layer) const {
    return mixer(static_cast<std::size_t>(layer)) == TinyMixer::attention;
  }
  bool has_state(int layer) const {
    const TinyMixer kind = mixer(static_cast<std::size_t>(layer));
    return kind != TinyMixer::attention && kind != TinyMixer::none;
  }
  bool has_ffn(int layer) const {
    return has_ffns.empty() || has_ffns[static_cast<std::size_t>(layer) % has_ffns.size()];
  }
};

enum class CacheHalf { keys, values };

/// How matrices are stored: what a row's values, and the input that multiplies it, count as.
struct NaiveStorage {
  using Change = std::function<std::vector<double>(Tensor, std::vector<double>)>;
  Change weights, inputs;  // none: as they are
};

/// Decodes a tiny model the plain way: one sequence at a time, loops in double, values rounded to
/// bf16 only where a model in bf16 stores them (between operators and in the cache).
class NaiveDecoder {
 public:
  using Vector = std::vector<double>;

  NaiveDecoder(TinyModel model, WeightSource source, NaiveStorage storage = {})
      : m_(model),
        source_(std::move(source)),
        storage_(std::move(storage)),
        keys_(size(m_.n_layers)),
        values_(keys_),
        other_choices_(size(m_.n_layers)) {
    for (int layer = 0; layer < m_.n_layers; ++layer)
      states_.emplace_back(
          m_.state, m_.hidden_dim, m_.mixer(size(layer)),
          [from = source_, layer](Tensor tensor, std::int64_t index, std::int64_t width) {
            return read_row(from, {tensor, layer, index, width});
          });
  }

  /// Logits after `token`, which goes to the end of the cache.
  Vector step(std::int64_t token) {
    Vector residual = stored_row(Tensor::embedding, -1, token, m_.hidden_dim);
    for (double& value : residual) value = round_bf16(value);
    for (int layer = 0; layer < m_.n_layers; ++layer) {
      if (m_.mixer(size(layer)) != TinyMixer::none) {
        const Vector x = norm(residual, vector(Tensor::attn_norm, layer));
        Vector y = m_.has_state(layer) ? states_[size(layer)].step(x) : attention(layer, x);
        if (m_.post_norms) y = norm(y, vector(Tensor::attn_post_norm, layer));
        add(residual, y);
      }
      if (m_.has_ffn(layer)) {
        Vector y = feed_forward(layer, norm(residual, vector(Tensor::ffn_norm, layer)));
        if (m_.post_norms) y = norm(y, vector(Tensor::ffn_post_norm, layer));
        add(residual, y);
      }
    }
    ++position_;
    const Tensor head = m_.tied ? Tensor::embedding : Tensor::lm_head;
    return matrix(head, -1, m_.vocab_size, norm(residual, vector(Tensor::final_norm, -1)));
  }

  /// Makes the cache hold `tokens` more keys and values, (head_dim) each, of all heads of a layer.
  void append_cached(int layer, Vector key, Vector value) {
    keys_[size(layer)].push_back(std::move(key));
    values_[size(layer)].push_back(std::move(value));
  }
  /// Runs `attention` (layer, position, x) in place of its own.
  void replace_attention(std::function<Vector(int, std::int64_t, const Vector&)> attention) {
    other_attention_ = std::move(attention);
  }
  void set_position(std::int64_t position) { position_ = position; }

  /// What the cache holds of a token's exact keys or values, all heads; these themselves by
  /// default.
  using Store = std::function<Vector(int layer, CacheHalf half, const Vector& exact)>;
  void set_store(Store store) { store_ = std::move(store); }

  /// Experts that another decoder chose in a layer of the next step. They count where this one's
  /// own choice is in doubt: a score may be rounded either way when sums differ in their last bits.
  void hint_choice(int layer, std::vector<std::int64_t> experts) {
    other_choices_[size(layer)] = std::move(experts);
  }
  /// How often a hint was needed.
  int hints_needed() const { return hints_needed_; }

  /// Cached keys of a layer: one vector of (n_kv_heads * head_dim) per token.
  const std::vector<Vector>& keys(int layer) const { return keys_[size(layer)]; }
  const std::vector<Vector>& values(int layer) const { return values_[size(layer)]; }
  NaiveStateLayer& state(int layer) { return states_[size(layer)]; }

 private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

  /// Nearest bf16: 8 significant bits, ties to even.
  static double round_bf16(double x) {
    if (x == 0.0) return 0.0;
    int exponent = 0;
    const double fraction = std::frexp(x, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
  }

  static void add(Vector& residual, const Vector& y) {
    for (std::size_t i = 0; i < y.size(); ++i) residual[i] = round_bf16(residual[i] + y[i]);
  }

  Vector row(Tensor tensor, int layer, std::int64_t index, std::int64_t width) const {
    return read_row(source_, {tensor, layer, index, width});
  }
  static Vector read_row(const WeightSource& source, const TensorRow& at) {
    std::vector<Bf16> bits(size(at.width));
    source(at, bits.data());
    Vector out;
    for (const Bf16 b : bits) out.push_back(static_cast<double>(bf16_to_float(b)));
    return out;
  }
  Vector vector(Tensor tensor, int layer) const { return row(tensor, layer, 0, m_.hidden_dim); }

  Vector stored_row(Tensor tensor, int layer, std::int64_t index, std::int64_t width) const {
    const Vector values = row(tensor, layer, index, width);
    return storage_.weights ? storage_.weights(tensor, values) : values;
  }

  Vector matrix(Tensor tensor, int layer, std::int64_t rows, const Vector& x,
                const Vector& bias = {}, std::int64_t first = 0) const {
    const Vector input = storage_.inputs ? storage_.inputs(tensor, x) : x;
    Vector y;
    for (std::int64_t i = 0; i < rows; ++i) {
      const Vector w = stored_row(tensor, layer, first + i, static_cast<std::int64_t>(x.size()));
      double sum = bias.empty() ? 0.0 : bias[size(i)];
      for (std::size_t j = 0; j < input.size(); ++j) sum += w[j] * input[j];
      y.push_back(round_bf16(sum));
    }
    return y;
  }

  static Vector norm(const Vector& x, const Vector& weight, bool round = true) {
    double squares = 0.0;
    for (const double v : x) squares += v * v;
    const double rms = std::sqrt(squares / static_cast<double>(x.size()) + 1e-6);
    Vector y;
    for (std::size_t i = 0; i < x.size(); ++i)
      y.push_back(round ? round_bf16(x[i] / rms * weight[i]) : x[i] / rms * weight[i]);
    return y;
  }

  /// Head `index` of a projection: normalised if the model does, and rotated to the position.
  Vector head_of(const Vector& all, std::int64_t index, Tensor norm_weight, int layer) const {
    const auto dim = size(m_.head_dim);
    Vector head(all.begin() + static_cast<std::ptrdiff_t>(size(index) * dim),
                all.begin() + static_cast<std::ptrdiff_t>((size(index) + 1) * dim));
    if (m_.qk_norm) head = norm(head, row(norm_weight, layer, 0, m_.head_dim), false);
    Vector turned(dim);
    for (std::size_t i = 0; i < dim / 2; ++i) {
      const double angle =
          static_cast<double>(position_) *
          std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
      turned[i] = round_bf16(head[i] * std::cos(angle) - head[i + dim / 2] * std::sin(angle));
      turned[i + dim / 2] =
          round_bf16(head[i + dim / 2] * std::cos(angle) + head[i] * std::sin(angle));
    }
    return turned;
  }

  Vector attention(int layer, const Vector& x) {
    if (other_attention_) return other_attention_(layer, position_, x);
    const auto bias = [&](Tensor t, std::int64_t heads) {
      return m_.qkv_bias ? row(t, layer, 0, heads * m_.head_dim) : Vector{};
    };
    const Vector q =
        matrix(Tensor::q, layer, m_.n_heads * m_.head_dim, x, bias(Tensor::q_bias, m_.n_heads));
    const Vector k = matrix(Tensor::k, layer, m_.n_kv_heads * m_.head_dim, x,
                            bias(Tensor::k_bias, m_.n_kv_heads));
    const Vector v = matrix(Tensor::v, layer, m_.n_kv_heads * m_.head_dim, x,
                            bias(Tensor::v_bias, m_.n_kv_heads));
    Vector keys;
    for (std::int64_t h = 0; h < m_.n_kv_heads; ++h) {
      const Vector key = head_of(k, h, Tensor::k_norm, layer);
      keys.insert(keys.end(), key.begin(), key.end());
    }
    append_cached(layer, store_ ? store_(layer, CacheHalf::keys, keys) : keys,
                  store_ ? store_(layer, CacheHalf::values, v) : v);
    Vector mixed;
    for (std::int64_t h = 0; h < m_.n_heads; ++h) {
      const Vector out = mix(layer, h, head_of(q, h, Tensor::q_norm, layer));
      mixed.insert(mixed.end(), out.begin(), out.end());
    }
    return matrix(Tensor::attn_out, layer, m_.hidden_dim, mixed,
                  m_.o_bias ? vector(Tensor::attn_out_bias, layer) : Vector{});
  }

  /// Softmax-weighted mean of the cached values that query head `head` sees.
  Vector mix(int layer, std::int64_t head, const Vector& q) const {
    const std::size_t first = size(head * m_.n_kv_heads / m_.n_heads * m_.head_dim);
    const std::size_t oldest = size(m_.first_seen(layer, position_));
    Vector weights;
    double total = 0.0;
    if (m_.sinks) total = std::exp(row(Tensor::sinks, layer, 0, m_.n_heads)[size(head)]);
    for (std::size_t t = oldest; t < keys(layer).size(); ++t) {
      const Vector& key = keys(layer)[t];
      double score = 0.0;
      for (std::size_t d = 0; d < q.size(); ++d) score += q[d] * key[first + d];
      weights.push_back(std::exp(score / std::sqrt(static_cast<double>(q.size()))));
      total += weights.back();
    }
    Vector out(q.size(), 0.0);
    for (std::size_t t = 0; t < weights.size(); ++t) {
      for (std::size_t d = 0; d < q.size(); ++d)
        out[d] += weights[t] / total * values(layer)[oldest + t][first + d];
    }
    for (double& x : out) x = round_bf16(x);
    return out;
  }

  /// A feed-forward block's matrices, and which of several stacked ones it is.
  struct Block {
    Tensor up, gate, down;
    std::int64_t width = 0, index = 0;
    bool bias = false;
  };

  Vector feed_forward(int layer, const Vector& x) {
    if (m_.has_experts(layer)) return experts(layer, x);
    return block(layer, x, {Tensor::up, Tensor::gate, Tensor::down, m_.ffn_dim, 0, m_.ffn_bias});
  }

  Vector block(int layer, const Vector& x, const Block& b) const {
    const auto bias = [&](Tensor t, std::int64_t width) {
      return b.bias ? row(t, layer, 0, width) : Vector{};
    };
    const std::int64_t first = b.index * b.width;
    Vector hidden = matrix(b.up, layer, b.width, x, bias(Tensor::up_bias, b.width), first);
    Vector gate;
    if (m_.gated) gate = matrix(b.gate, layer, b.width, x, bias(Tensor::gate_bias, b.width), first);
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      const double u = hidden[i];
      const double active = m_.gated
                                ? u * gate[i] / (1.0 + std::exp(-gate[i]))
                                : 0.5 * u *
                                      (1.0 + std::tanh(std::sqrt(2.0 / 3.14159265358979323846) *
                                                       (u + 0.044715 * u * u * u)));
      hidden[i] = round_bf16(active);
    }
    return matrix(b.down, layer, m_.hidden_dim, hidden, bias(Tensor::down_bias, m_.hidden_dim),
                  b.index * m_.hidden_dim);
  }

  /// The routed experts' outputs are stored in bf16 and their weighted sum once; each part beside
  /// them is stored, then added and the sum stored.
  Vector experts(int layer, const Vector& x) {
    const Vector scores =
        matrix(Tensor::router, layer, m_.n_experts, x,
               m_.router_bias ? row(Tensor::router_bias, layer, 0, m_.n_experts) : Vector{});
    const std::vector<std::int64_t> chosen = choose(scores, other_choices_[size(layer)]);
    double total = 0.0;
    for (const std::int64_t expert : chosen) total += std::exp(scores[size(expert)]);
    Vector y(x.size(), 0.0);
    for (const std::int64_t expert : chosen) {
      const Vector out = block(
          layer, x,
          {Tensor::expert_up, Tensor::expert_gate, Tensor::expert_down, m_.expert_dim, expert});
      for (std::size_t i = 0; i < y.size(); ++i)
        y[i] += std::exp(scores[size(expert)]) / total * out[i];
    }
    for (double& v : y) v = round_bf16(v);
    const auto add_part = [&](const Block& part, double weight) {
      const Vector out = block(layer, x, part);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = round_bf16(y[i] + weight * out[i]);
    };
    if (m_.n_shared_experts > 0)
      add_part({Tensor::shared_up, Tensor::shared_gate, Tensor::shared_down,
                m_.n_shared_experts * m_.shared_expert_dim},
               m_.shared_gate ? output_gate(layer, x) : 1.0);
    if (m_.dense_dim > 0) add_part({Tensor::up, Tensor::gate, Tensor::down, m_.dense_dim}, 1.0);
    return y;
  }

  double output_gate(int layer, const Vector& x) const {
    const Vector w = vector(Tensor::shared_output_gate, layer);
    return 1.0 / (1.0 + std::exp(-std::inner_product(w.begin(), w.end(), x.begin(), 0.0)));
  }

  /// Experts with the largest scores, the first among equals; `other` instead where each difference
  /// is within a few roundings of the scores.
  std::vector<std::int64_t> choose(const Vector& scores, std::vector<std::int64_t> other) {
    std::vector<std::int64_t> own(scores.size());
    std::iota(own.begin(), own.end(), 0);
    std::stable_sort(own.begin(), own.end(), [&](std::int64_t a, std::int64_t b) {
      return scores[size(a)] > scores[size(b)];
    });
    own.resize(size(m_.n_experts_per_token));
    double largest = 0.0;
    for (const double score : scores) largest = std::max(largest, std::fabs(score));
    const double least = scores[size(own.back())];
    const double doubt = 4.0 / 256.0 * largest;
    std::vector<std::int64_t> sorted = own;
    std::sort(sorted.begin(), sorted.end());
    std::sort(other.begin(), other.end());
    if (other.size() != own.size() || other == sorted) return own;
    for (std::int64_t e = 0; e < m_.n_experts; ++e) {
      const bool chosen = std::binary_search(other.begin(), other.end(), e);
      if (scores[size(e)] < least - doubt ? chosen : scores[size(e)] > least + doubt && !chosen)
        return own;
    }
    ++hints_needed_;
    return other;
  }

  TinyModel m_;
  WeightSource source_;
  std::function<Vector(int, std::int64_t, const Vector&)> other_attention_;
  Store store_;
  NaiveStorage storage_;
  std::vector<std::vector<Vector>> keys_, values_;        // by layer, then token
  std::vector<std::vector<std::int64_t>> other_choices_;  // by layer
  std::vector<NaiveStateLayer> states_;                   // by layer
  std::int64_t position_ = 0;
  int hints_needed_ = 0;
};

}  // namespace roofcast
