#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

#include "model/architecture/fields.hpp"
#include "model/operators/operator_builder.hpp"

namespace roofcast {

/// Matrices of a feed-forward block: gated has up, gate and down; plain has up and down.
enum class FfnForm { gated, plain };
template <>
struct EnumNames<FfnForm> {
  static constexpr std::array<std::string_view, 2> kNames = {"gated", "plain"};
};

/// Element counts of one layer's feed-forward part.
struct FfnParameters {
  double dense = 0.0;
  double routed = 0.0;         // all experts
  double routed_active = 0.0;  // those one token uses
  double shared = 0.0;
  double router = 0.0;
  double vectors = 0.0;
  double total() const { return dense + routed + shared + router + vectors; }
  double active() const { return dense + routed_active + shared + router + vectors; }
};

/// Feed-forward block of every token.
struct DenseFfn {
  static constexpr std::string_view kName = "dense";
  static constexpr std::string_view kSummary = "feed-forward block used by every token";

  std::int64_t ffn_dim = 0;
  FfnForm form = FfnForm::gated;
  bool bias = false;

  bool operator==(const DenseFfn&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    field("ffn_dim", self.ffn_dim);
    field("form", self.form);
    field("bias", self.bias);
  }

  FfnParameters parameters(double hidden_dim) const;
  void append_operators(OperatorBuilder& builder) const;
};

/// Mixture of experts: each token uses `n_experts_per_token` of `n_experts`, beside shared experts
/// and, in some models, a dense block in parallel.
struct MoeFfn {
  static constexpr std::string_view kName = "moe";
  static constexpr std::string_view kSummary =
      "mixture of experts; a step reads the distinct experts that its tokens hit";

  std::int64_t n_experts = 0;
  std::int64_t n_experts_per_token = 0;
  std::int64_t expert_dim = 0;  // moe_intermediate_size
  std::int64_t n_shared_experts = 0;
  std::int64_t shared_expert_dim = 0;  // of each shared expert
  std::int64_t dense_dim = 0;          // dense block in parallel with the experts (Gemma 4)
  std::int64_t latent_dim = 0;  // experts work in this narrower space (Nemotron 3 Super); 0: none
  FfnForm form = FfnForm::gated;
  bool latent_norm = false;  // a norm before the way back from the narrower space (Kimi K3)
  bool router_bias = false;
  bool shared_gate = false;  // one sigmoid gate per token on the shared expert (Qwen)
  bool expert_bias = false;  // biases on expert matrices (gpt-oss)

  bool operator==(const MoeFfn&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    field("n_experts", self.n_experts);
    field("n_experts_per_token", self.n_experts_per_token);
    field("expert_dim", self.expert_dim);
    field("n_shared_experts", self.n_shared_experts, Presence::optional, 0);
    field("shared_expert_dim", self.shared_expert_dim, Presence::optional, 0);
    field("dense_dim", self.dense_dim, Presence::optional, 0);
    field("latent_dim", self.latent_dim, Presence::optional, 0);
    field("form", self.form);
    field("latent_norm", self.latent_norm);
    field("router_bias", self.router_bias);
    field("shared_gate", self.shared_gate);
    field("expert_bias", self.expert_bias);
  }

  FfnParameters parameters(double hidden_dim) const;
  void append_operators(OperatorBuilder& builder) const;
};

/// No feed-forward part in this layer (Nemotron-H mixer layers).
struct NoFfn {
  static constexpr std::string_view kName = "none";
  static constexpr std::string_view kSummary = "no feed-forward part in this layer";

  bool operator==(const NoFfn&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}

  FfnParameters parameters(double) const { return {}; }
  void append_operators(OperatorBuilder&) const {}
};

/// The one list of feed-forward kinds.
using FeedForward = std::variant<DenseFfn, MoeFfn, NoFfn>;

/// Expected distinct experts hit by `tokens` tokens that each draw `per_token` of `experts` without
/// replacement, uniformly: E (1 - (1 - k/E)^B). Exactly k at one token.
double expected_distinct_experts(double experts, double per_token, double tokens);

}  // namespace roofcast
