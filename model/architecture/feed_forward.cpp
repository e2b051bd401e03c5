#include "model/architecture/feed_forward.hpp"

#include <cmath>

namespace roofcast {
namespace {

double matrices(FfnForm form) { return form == FfnForm::gated ? 3.0 : 2.0; }
double input_matrices(FfnForm form) { return form == FfnForm::gated ? 2.0 : 1.0; }

std::string_view input_name(FfnForm form, std::string_view gated, std::string_view plain) {
  return form == FfnForm::gated ? gated : plain;
}

/// Up (and gate), activation, down, of a block `width` wide on this rank.
void append_block(Component component, FfnForm form, double width, double bias,
                  std::string_view in_name, std::string_view act_name, std::string_view out_name,
                  OperatorBuilder& b) {
  const double inputs = input_matrices(form) * width;
  b.gemm(in_name, component, inputs, b.hidden_dim(), bias > 0.0 ? inputs : 0.0);
  b.elementwise(act_name, b.tokens() * (inputs + width));
  b.gemm(out_name, component, b.hidden_dim(), width, bias > 0.0 ? b.hidden_dim() : 0.0);
}

void append_experts(const MoeFfn& f, OperatorBuilder& b) {
  const Storage& weights = b.formats()[Component::routed_experts];
  const double width = shard(static_cast<double>(f.expert_dim), b.tp());
  const double model_width = f.latent_dim > 0 ? static_cast<double>(f.latent_dim) : b.hidden_dim();
  const auto experts = static_cast<double>(f.n_experts);
  const auto per_token = static_cast<double>(f.n_experts_per_token);
  const double hit = b.step().experts_hit > 0.0
                         ? b.step().experts_hit
                         : expected_distinct_experts(experts, per_token, b.tokens());
  const double bias_elements = f.expert_bias ? input_matrices(f.form) * width + model_width : 0.0;

  Operator& op = b.append("moe_experts", OperatorKind::moe);
  op.shape.m = b.tokens();
  op.shape.n = width;
  op.shape.k = model_width;
  op.shape.experts = experts;
  op.shape.experts_hit = hit;
  op.shape.experts_per_token = per_token;
  op.format = weights.format;
  op.compute = weights.format.row().compute;
  op.flops = {2.0 * b.tokens() * per_token * matrices(f.form) * width * model_width};
  op.bytes.weights = {hit * (matrices(f.form) * width * model_width * weights.bytes_per_element() +
                             bias_elements * b.activation_bytes())};
  // Tokens in and out of the experts and between their matrices (permute, activation, combine).
  op.bytes.activations = {(b.tokens() * per_token * (2.0 * model_width + 3.0 * width) +
                           2.0 * b.tokens() * model_width) *
                          b.activation_bytes()};
}

}  // namespace

double expected_distinct_experts(double experts, double per_token, double tokens) {
  if (tokens == 1.0) return per_token;
  if (per_token >= experts) return experts;
  return experts * -std::expm1(tokens * std::log1p(-per_token / experts));
}

FfnParameters DenseFfn::parameters(double hidden_dim) const {
  const auto width = static_cast<double>(ffn_dim);
  FfnParameters p;
  p.dense = matrices(form) * hidden_dim * width;
  if (bias) p.vectors = input_matrices(form) * width + hidden_dim;
  return p;
}

void DenseFfn::append_operators(OperatorBuilder& b) const {
  append_block(Component::dense_ffn, form, shard(static_cast<double>(ffn_dim), b.tp()),
               bias ? 1.0 : 0.0, input_name(form, "ffn_up_gate", "ffn_up"), "ffn_activation",
               "ffn_down", b);
  b.all_reduce("ffn_all_reduce");
}

FfnParameters MoeFfn::parameters(double hidden_dim) const {
  const auto experts = static_cast<double>(n_experts);
  const auto width = static_cast<double>(expert_dim);
  const double model_width = latent_dim > 0 ? static_cast<double>(latent_dim) : hidden_dim;
  const double bias_each = expert_bias ? input_matrices(form) * width + model_width : 0.0;
  const double each = matrices(form) * model_width * width + bias_each;
  FfnParameters p;
  p.routed = experts * each;
  p.routed_active = static_cast<double>(n_experts_per_token) * each;
  p.shared =
      static_cast<double>(n_shared_experts * shared_expert_dim) * matrices(form) * hidden_dim;
  p.dense = static_cast<double>(dense_dim) * matrices(form) * hidden_dim;
  if (latent_dim > 0) p.shared += 2.0 * hidden_dim * model_width;
  p.router = experts * hidden_dim;
  p.vectors = (router_bias ? experts : 0.0) + (shared_gate ? hidden_dim : 0.0) +
              (latent_norm ? model_width : 0.0);
  return p;
}

void MoeFfn::append_operators(OperatorBuilder& b) const {
  const auto experts = static_cast<double>(n_experts);
  // The gate on the shared expert is one more row beside the scores, stored in 16 bits.
  b.gemm("router", Component::router, experts, b.hidden_dim(),
         (router_bias ? experts : 0.0) + (shared_gate ? b.hidden_dim() : 0.0));
  if (latent_dim > 0)
    b.gemm("moe_latent_down", Component::shared_experts, static_cast<double>(latent_dim),
           b.hidden_dim());
  append_experts(*this, b);
  if (latent_norm) {
    const auto width = static_cast<double>(latent_dim);
    Operator& norm = b.elementwise("moe_latent_norm", 2.0 * b.tokens() * width);
    norm.bytes.weights = {width * b.activation_bytes()};
  }
  if (latent_dim > 0)
    b.gemm("moe_latent_up", Component::shared_experts, b.hidden_dim(),
           static_cast<double>(latent_dim));
  if (n_shared_experts > 0)
    append_block(Component::shared_experts, form,
                 shard(static_cast<double>(n_shared_experts * shared_expert_dim), b.tp()), 0.0,
                 input_name(form, "shared_up_gate", "shared_up"), "shared_activation",
                 "shared_down", b);
  if (dense_dim > 0)
    append_block(Component::dense_ffn, form, shard(static_cast<double>(dense_dim), b.tp()), 0.0,
                 input_name(form, "ffn_up_gate", "ffn_up"), "ffn_activation", "ffn_down", b);
  b.all_reduce("ffn_all_reduce");
}

}  // namespace roofcast
