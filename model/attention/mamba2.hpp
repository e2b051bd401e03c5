#pragma once

#include "model/attention/gqa_shape.hpp"

namespace roofcast {

/// Mamba-2 (arXiv:2405.21060; Nemotron-H): a head_dim x state_dim state per head with a scalar
/// decay; B and C are shared by the heads of a group.
struct Mamba2 {
  static constexpr std::string_view kName = "mamba2";
  static constexpr std::string_view kSummary =
      "Mamba-2 state space layer: a fixed matrix state per head, read and written each step";

  std::int64_t n_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t n_groups = 0;
  std::int64_t state_dim = 0;
  std::int64_t conv_kernel = 0;
  bool conv_bias = false;

  bool operator==(const Mamba2&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    field("n_heads", self.n_heads);
    field("head_dim", self.head_dim);
    field("n_groups", self.n_groups);
    field("state_dim", self.state_dim);
    field("conv_kernel", self.conv_kernel);
    field("conv_bias", self.conv_bias);
  }

  MixerParameters parameters(double hidden_dim) const;
  CacheElements cache(double context) const;
  CacheShards cache_shards(double tp) const {
    return {.state = std::min(tp, static_cast<double>(n_heads))};
  }
  void append_operators(OperatorBuilder& builder) const;
};

}  // namespace roofcast
