#pragma once

#include <cstdint>
#include <optional>

#include "model/reference/cpu/expert_routing.hpp"
#include "model/reference/cpu/kernels.hpp"

namespace roofcast {

/// Rotary embedding of a head: of its first `share` only, by angles position x theta^(-2 i / width)
/// over the width that turns. A share of 0: attention without positions (Nemotron-H).
struct RotarySemantics {
  double theta = 10000.0;
  double share = 1.0;
  bool operator==(const RotarySemantics&) const = default;
};

/// What decides a model's values but not its bytes and operations, which ArchitectureSpec holds.
/// The defaults are those of Llama; random weights need no others.
struct ModelSemantics {
  float norm_epsilon = 1e-6F;
  float norm_offset = 0.0F;  // norms multiply by offset + weight (Gemma, Qwen3-Next: 1)
  RotarySemantics rotary = {};
  std::optional<RotarySemantics> local_rotary = std::nullopt;  // of layers with a window, if apart
  float embedding_scale = 1.0F;                                // of the embedding's output
  float query_scale = 0.0F;                                    // of scores; 0: 1 / sqrt(head_dim)
  float logit_softcap = 0.0F;  // logits become cap x tanh(logits / cap); 0: they stay
  std::optional<Activation> activation = std::nullopt;  // SiLU with a gate, GELU without
  ClampedSwiglu swiglu = {};
  RouterSemantics router = {};
};

}  // namespace roofcast
