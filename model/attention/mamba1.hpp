#pragma once

#include "model/attention/gqa_shape.hpp"

namespace roofcast {

/// Mamba (arXiv:2312.00752; Jamba, Falcon-Mamba): a state of state_dim elements per channel, with
/// step sizes, B and C projected from the channels.
struct Mamba1 {
  static constexpr std::string_view kName = "mamba1";
  static constexpr std::string_view kSummary =
      "Mamba selective state space layer: state_dim elements per channel, read and written each "
      "step";

  std::int64_t inner_dim = 0;
  std::int64_t state_dim = 0;
  std::int64_t dt_rank = 0;
  std::int64_t conv_kernel = 0;
  bool conv_bias = false;
  bool inner_norms = false;  // norms with weights on step size, B and C (Jamba)

  bool operator==(const Mamba1&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self& self, Visitor&& field) {
    field("inner_dim", self.inner_dim);
    field("state_dim", self.state_dim);
    field("dt_rank", self.dt_rank);
    field("conv_kernel", self.conv_kernel);
    field("conv_bias", self.conv_bias);
    field("inner_norms", self.inner_norms);
  }

  MixerParameters parameters(double hidden_dim) const;
  CacheElements cache(double context) const;
  CacheShards cache_shards(double tp) const { return {.state = tp}; }
  void append_operators(OperatorBuilder& builder) const;
};

}  // namespace roofcast
