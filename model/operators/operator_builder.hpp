#pragma once

#include <string_view>

#include "model/architecture/formats.hpp"
#include "model/operators/operator.hpp"
#include "model/operators/step_shape.hpp"

namespace roofcast {

/// Where a layer class's operators go, and what they share: the model's width, its formats, the
/// shape of the pass, and how many layers repeat them. Kinds append through these calls, so that
/// each formula for bytes and FLOPs stands once.
class OperatorBuilder {
 public:
  OperatorBuilder(double hidden_dim, const Formats& formats, const StepShape& step,
                  OperatorList& out)
      : hidden_dim_(hidden_dim), formats_(formats), step_(step), out_(out) {}

  double hidden_dim() const { return hidden_dim_; }
  const Formats& formats() const { return formats_; }
  const StepShape& step() const { return step_; }
  double tokens() const { return step_.tokens(); }
  double tp() const { return static_cast<double>(step_.tp); }
  double activation_bytes() const { return formats_[Component::activations].bytes_per_element(); }

  void enter_layers(int layer_class, double count) {
    layer_class_ = layer_class;
    count_ = count;
  }

  /// y (tokens, n) = x (tokens, k) W^T with W (n, k) stored as `component`; bytes W + x + y,
  /// 2 * tokens * n * k FLOPs. n and k are those of one rank. `extra` are elements of biases.
  Operator& gemm(std::string_view name, Component component, double n, double k,
                 double extra = 0.0) {
    return gemm_rows(name, component, tokens(), n, k, extra);
  }
  Operator& gemm_rows(std::string_view name, Component component, double rows, double n, double k,
                      double extra = 0.0);

  /// Reads and writes `elements` activations in all. For norms, rotary embedding, gates, sampling.
  Operator& elementwise(std::string_view name, double elements);

  /// Whether `all_reduce` appends anything: of two parallel blocks only the last one reduces.
  void set_reduces(bool reduces) { reduces_ = reduces; }

  /// Sum over ranks of (tokens, hidden_dim) activations; nothing when there is one rank.
  void all_reduce(std::string_view name);

  /// A bare operator of this layer class, for kinds whose work has its own form.
  Operator& append(std::string_view name, OperatorKind kind);

 private:
  double hidden_dim_;
  const Formats& formats_;
  StepShape step_;
  OperatorList& out_;
  int layer_class_ = -1;
  double count_ = 1.0;
  bool reduces_ = true;
};

/// ceil(total / ranks): the share of the fullest rank, which the others wait for.
double shard(double total, double ranks);

}  // namespace roofcast
