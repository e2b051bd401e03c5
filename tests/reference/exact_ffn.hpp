#pragma once

#include <algorithm>
#include <cmath>

#include "model/architecture/feed_forward.hpp"
#include "model/reference/model_semantics.hpp"
#include "tests/reference/exact_weights.hpp"

namespace roofcast {

/// Feed-forward blocks in double, as their model's papers write them.
class ExactFfn {
 public:
  ExactFfn(ExactWeights& weights, const ModelSemantics& semantics)
      : w_(weights), semantics_(semantics) {}

  Vector run(const DenseFfn& ffn, int layer, const Vector& x) {
    return block({Tensor::up, Tensor::gate, Tensor::down, ffn.ffn_dim, ffn.form, 0,
                  ffn.bias ? &kDenseBiases : nullptr},
                 layer, x);
  }

  Vector run(const MoeFfn& moe, int layer, const Vector& x) {
    Vector y(x.size(), 0.0);
    for (const auto& [expert, weight] : choose(moe, layer, x))
      add_to(y,
             block({Tensor::expert_up, Tensor::expert_gate, Tensor::expert_down, moe.expert_dim,
                    moe.form, expert, moe.expert_bias ? &kExpertBiases : nullptr},
                   layer, x),
             weight);
    if (moe.n_shared_experts > 0) {
      const double gate =
          moe.shared_gate ? sigmoid(w_.times(Tensor::shared_output_gate, layer, 1, x)[0]) : 1.0;
      add_to(y,
             block({Tensor::shared_up, Tensor::shared_gate, Tensor::shared_down,
                    moe.n_shared_experts * moe.shared_expert_dim, moe.form, 0, nullptr},
                   layer, x),
             gate);
    }
    return y;
  }

  Vector run(const NoFfn&, int, const Vector& x) { return Vector(x.size(), 0.0); }

  /// By how much the least clear choice so far exceeded the first that was not chosen.
  double least_margin() const { return least_margin_; }

 private:
  struct Biases {
    Tensor up, gate, down;
  };
  static constexpr Biases kDenseBiases = {Tensor::up_bias, Tensor::gate_bias, Tensor::down_bias};
  static constexpr Biases kExpertBiases = {Tensor::expert_up_bias, Tensor::expert_gate_bias,
                                           Tensor::expert_down_bias};
  struct Block {
    Tensor up, gate, down;
    std::int64_t width;
    FfnForm form;
    std::int64_t index;  // of a stack of blocks
    const Biases* biases;
  };

  Vector block(const Block& b, int layer, const Vector& x) {
    const auto product = [&](Tensor matrix, Tensor bias, std::int64_t rows, const Vector& in) {
      Vector y = w_.times(matrix, layer, rows, in, b.index * rows);
      if (b.biases != nullptr) add_to(y, w_.row(bias, layer, b.index, rows));
      return y;
    };
    const Biases biases = b.biases == nullptr ? Biases{} : *b.biases;
    Vector inner = product(b.up, biases.up, b.width, x);
    Vector gate;
    if (b.form == FfnForm::gated) gate = product(b.gate, biases.gate, b.width, x);
    for (std::size_t i = 0; i < inner.size(); ++i)
      inner[i] = gate.empty() ? activated(inner[i], b.form) : gated(inner[i], gate[i], b.form);
    return product(b.down, biases.down, static_cast<std::int64_t>(x.size()), inner);
  }

  double gated(double up, double gate, FfnForm form) const {
    if (semantics_.activation != Activation::clamped_swiglu) return up * activated(gate, form);
    const auto limit = static_cast<double>(semantics_.swiglu.limit);
    const double g = std::min(gate, limit);
    const double u = std::clamp(up, -limit, limit);
    return (u + 1.0) * g * sigmoid(static_cast<double>(semantics_.swiglu.alpha) * g);
  }

  double activated(double x, FfnForm form) const {
    switch (semantics_.activation.value_or(form == FfnForm::gated ? Activation::silu
                                                                  : Activation::gelu)) {
      case Activation::relu_squared:
        return x > 0.0 ? x * x : 0.0;
      case Activation::gelu: {
        const double inner = std::sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
        return 0.5 * x * (1.0 + std::tanh(inner));
      }
      default:
        return x * sigmoid(x);
    }
  }

  using Choice = std::vector<std::pair<std::int64_t, double>>;

  /// Experts and weights of one token.
  Choice choose(const MoeFfn& moe, int layer, const Vector& x) {
    const RouterSemantics& r = semantics_.router;
    Vector scores = w_.times(Tensor::router, layer, moe.n_experts, x);
    Vector bias(scores.size(), 0.0);
    if (moe.router_bias) bias = w_.row(Tensor::router_bias, layer, 0, moe.n_experts);
    if (!r.bias_only_chooses) add_to(scores, bias);
    for (double& s : scores) s = r.scoring == RouterSemantics::Scoring::sigmoid ? sigmoid(s) : s;
    Vector ranks = scores;
    if (r.bias_only_chooses) add_to(ranks, bias);
    close_groups(ranks);
    const auto k = static_cast<std::size_t>(moe.n_experts_per_token);
    const std::vector<std::size_t> order = descending(ranks);
    if (k < order.size())
      least_margin_ = std::min(least_margin_, ranks[order[k - 1]] - ranks[order[k]]);
    return weigh(scores, {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k)});
  }

  static std::vector<std::size_t> descending(const Vector& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    return order;
  }

  /// Puts experts outside of the best groups out of reach.
  void close_groups(Vector& ranks) {
    const auto groups = static_cast<std::size_t>(semantics_.router.groups);
    const auto open = static_cast<std::size_t>(semantics_.router.groups_per_token);
    if (groups == 1) return;
    const std::size_t size = ranks.size() / groups;
    Vector sums;
    for (std::size_t g = 0; g < groups; ++g) {
      Vector own(ranks.begin() + static_cast<std::ptrdiff_t>(g * size),
                 ranks.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
      std::sort(own.rbegin(), own.rend());
      sums.push_back(own[0] + (size > 1 ? own[1] : 0.0));
    }
    const std::vector<std::size_t> order = descending(sums);
    if (open < groups)
      least_margin_ = std::min(least_margin_, sums[order[open - 1]] - sums[order[open]]);
    for (std::size_t i = open; i < groups; ++i)
      for (std::size_t e = order[i] * size; e < (order[i] + 1) * size; ++e) ranks[e] = -HUGE_VAL;
  }

  Choice weigh(const Vector& scores, const std::vector<std::size_t>& chosen) const {
    const RouterSemantics& r = semantics_.router;
    const auto weight = [&](double score) {
      return r.scoring == RouterSemantics::Scoring::sigmoid ? score : std::exp(score);
    };
    double total = 0.0;
    if (r.normalize)
      for (const std::size_t e : chosen) total += weight(scores[e]);
    else if (r.scoring == RouterSemantics::Scoring::softmax)
      for (const double score : scores) total += weight(score);
    else
      total = 1.0;
    Choice choice;
    for (const std::size_t e : chosen)
      choice.emplace_back(static_cast<std::int64_t>(e),
                          static_cast<double>(r.scale) * weight(scores[e]) / total);
    return choice;
  }

  ExactWeights& w_;
  const ModelSemantics& semantics_;
  double least_margin_ = HUGE_VAL;
};

}  // namespace roofcast
