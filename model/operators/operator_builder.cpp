#include "model/operators/operator_builder.hpp"

#include <cmath>

namespace roofcast {

double shard(double total, double ranks) { return ranks == 1.0 ? total : std::ceil(total / ranks); }

Operator& OperatorBuilder::append(std::string_view name, OperatorKind kind) {
  Operator& op = out_.emplace_back();
  op.name = name;
  op.kind = kind;
  op.layer_class = layer_class_;
  op.count = count_;
  op.compute = formats_[Component::activations].format.row().compute;
  op.format = formats_[Component::activations].format;
  return op;
}

Operator& OperatorBuilder::gemm_rows(std::string_view name, Component component, double rows,
                                     double n, double k, double extra) {
  const Storage& weights = formats_[component];
  Operator& op = append(name, OperatorKind::gemm);
  op.shape.m = rows;
  op.shape.n = n;
  op.shape.k = k;
  op.flops = {2.0 * rows * n * k};
  op.format = weights.format;
  op.compute = weights.format.row().compute;
  op.bytes.weights = {n * k * weights.bytes_per_element() + extra * activation_bytes()};
  op.bytes.activations = {rows * (n + k) * activation_bytes()};
  return op;
}

Operator& OperatorBuilder::elementwise(std::string_view name, double elements) {
  Operator& op = append(name, OperatorKind::elementwise);
  op.bytes.activations = {elements * activation_bytes()};
  return op;
}

void OperatorBuilder::all_reduce(std::string_view name) {
  if (step_.tp == 1 || !reduces_) return;
  Operator& op = append(name, OperatorKind::collective);
  op.shape.ranks = tp();
  op.bytes.collective = {tokens() * hidden_dim_ * activation_bytes()};
}

StepWork total_work(const OperatorList& operators) {
  StepWork total;
  for (const Operator& op : operators) {
    total.flops += op.flops * op.count;
    total.bytes.weights += op.bytes.weights * op.count;
    total.bytes.kv_read += op.bytes.kv_read * op.count;
    total.bytes.kv_write += op.bytes.kv_write * op.count;
    total.bytes.state += op.bytes.state * op.count;
    total.bytes.activations += op.bytes.activations * op.count;
    total.bytes.collective += op.bytes.collective * op.count;
  }
  return total;
}

}  // namespace roofcast
