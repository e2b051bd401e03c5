#pragma once

#include "model/attention/gqa_shape.hpp"

namespace roofcast {

/// A layer without attention or state: only its feed-forward part exists (Nemotron-H MLP layers,
/// Nemotron-NAS no-op attention).
struct NoMixer {
  static constexpr std::string_view kName = "none";
  static constexpr std::string_view kSummary = "no attention and no state in this layer";

  bool operator==(const NoMixer&) const = default;

  template <typename Self, typename Visitor>
  static void visit_fields(Self&, Visitor&&) {}

  MixerParameters parameters(double) const { return {}; }
  CacheElements cache(double) const { return {}; }
  CacheShards cache_shards(double) const { return {}; }
  void append_operators(OperatorBuilder&) const {}
};

}  // namespace roofcast
