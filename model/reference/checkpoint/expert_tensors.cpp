#include "model/reference/checkpoint/tensor_lists.hpp"

namespace roofcast::detail {

using Parts = LayerParts;
using Shape = TensorShape;

Shape router(const Parts& p) {
  return p.moe == nullptr ? Shape{} : Shape{p.moe->n_experts, p.spec->hidden_dim};
}
Shape router_bias(const Parts& p) {
  return p.moe != nullptr && p.moe->router_bias ? Shape{p.moe->n_experts} : Shape{};
}
Shape expert_in(const Parts& p) {
  return p.moe == nullptr ? Shape{} : Shape{p.moe->expert_dim, p.spec->hidden_dim};
}
Shape expert_out(const Parts& p) {
  return p.moe == nullptr ? Shape{} : Shape{p.spec->hidden_dim, p.moe->expert_dim};
}
Shape shared_in(const Parts& p) {
  if (p.moe == nullptr || p.moe->n_shared_experts == 0) return {};
  return {p.moe->n_shared_experts * p.moe->shared_expert_dim, p.spec->hidden_dim};
}
Shape shared_out(const Parts& p) {
  if (p.moe == nullptr || p.moe->n_shared_experts == 0) return {};
  return {p.spec->hidden_dim, p.moe->n_shared_experts * p.moe->shared_expert_dim};
}

namespace {

constexpr TensorRule kMixtral[] = {
    {Tensor::router, "model.layers.{layer}.block_sparse_moe.gate.weight", router},
    {Tensor::expert_gate, "model.layers.{layer}.block_sparse_moe.experts.{expert}.w1.weight",
     expert_in},
    {Tensor::expert_down, "model.layers.{layer}.block_sparse_moe.experts.{expert}.w2.weight",
     expert_out},
    {Tensor::expert_up, "model.layers.{layer}.block_sparse_moe.experts.{expert}.w3.weight",
     expert_in},
};

constexpr TensorRule kQwen[] = {
    {Tensor::router, "model.layers.{layer}.mlp.gate.weight", router},
    {Tensor::expert_up, "model.layers.{layer}.mlp.experts.{expert}.up_proj.weight", expert_in},
    {Tensor::expert_gate, "model.layers.{layer}.mlp.experts.{expert}.gate_proj.weight", expert_in},
    {Tensor::expert_down, "model.layers.{layer}.mlp.experts.{expert}.down_proj.weight", expert_out},
};

// gpt-oss stores its experts in one tensor, inputs before outputs; gates and ups alternate.

Shape oss_in(const Parts& p) {
  if (p.moe == nullptr) return {};
  return {p.moe->n_experts, p.spec->hidden_dim, 2 * p.moe->expert_dim};
}
Shape oss_out(const Parts& p) {
  if (p.moe == nullptr) return {};
  return {p.moe->n_experts, p.moe->expert_dim, p.spec->hidden_dim};
}
Shape oss_in_bias(const Parts& p) {
  return p.moe == nullptr ? Shape{} : Shape{p.moe->n_experts, 2 * p.moe->expert_dim};
}
Shape oss_out_bias(const Parts& p) {
  return p.moe == nullptr ? Shape{} : Shape{p.moe->n_experts, p.spec->hidden_dim};
}

/// Column `column` of expert `expert` of a tensor (experts, inputs, outputs).
RowPlace column_of(std::int64_t expert, std::int64_t column, std::int64_t inputs,
                   std::int64_t outputs) {
  return {expert * inputs * outputs + column, outputs};
}
template <int kWhich>
RowPlace oss_in_row(const Parts& p, std::int64_t row, std::int64_t width) {
  const std::int64_t each = p.moe->expert_dim;
  return column_of(row / each, 2 * (row % each) + kWhich, width, 2 * each);
}
RowPlace oss_out_row(const Parts& p, std::int64_t row, std::int64_t width) {
  const std::int64_t outputs = p.spec->hidden_dim;
  return column_of(row / outputs, row % outputs, width, outputs);
}
template <int kWhich>
RowPlace oss_bias_row(const Parts&, std::int64_t row, std::int64_t width) {
  return {row * 2 * width + kWhich, 2};
}

constexpr TensorRule kOss[] = {
    {Tensor::router, "model.layers.{layer}.mlp.router.weight", router},
    {Tensor::router_bias, "model.layers.{layer}.mlp.router.bias", router_bias},
    {Tensor::expert_gate, "model.layers.{layer}.mlp.experts.gate_up_proj", oss_in, oss_in_row<0>},
    {Tensor::expert_up, "model.layers.{layer}.mlp.experts.gate_up_proj", oss_in, oss_in_row<1>},
    {Tensor::expert_down, "model.layers.{layer}.mlp.experts.down_proj", oss_out, oss_out_row},
    {Tensor::expert_gate_bias, "model.layers.{layer}.mlp.experts.gate_up_proj_bias", oss_in_bias,
     oss_bias_row<0>},
    {Tensor::expert_up_bias, "model.layers.{layer}.mlp.experts.gate_up_proj_bias", oss_in_bias,
     oss_bias_row<1>},
    {Tensor::expert_down_bias, "model.layers.{layer}.mlp.experts.down_proj_bias", oss_out_bias},
};

}  // namespace

TensorList mixtral_expert_tensors() { return kMixtral; }
TensorList qwen_expert_tensors() { return kQwen; }
TensorList oss_expert_tensors() { return kOss; }

}  // namespace roofcast::detail
