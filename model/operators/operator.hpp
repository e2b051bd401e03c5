#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/base/number_format.hpp"
#include "model/base/quantity.hpp"

namespace roofcast {

/// What a piece of work looks like to a machine; each kind has one cost formula.
enum class OperatorKind { gemm, attention, mla, moe, state, elementwise, collective };

inline constexpr std::array<std::string_view, 7> kOperatorKindNames = {
    "gemm", "attention", "mla", "moe", "state", "elementwise", "collective"};

/// Bytes that one operator moves, by what they are. Everything is per rank and per layer.
struct Traffic {
  Bytes weights;
  Bytes kv_read;
  Bytes kv_write;
  Bytes state;        // recurrent state, read and written
  Bytes activations;  // inputs and outputs of the operator
  Bytes collective;   // message size of a collective, before any algorithm factor

  /// What goes through the memory of one rank; a collective's message is costed on its link.
  constexpr Bytes memory() const { return weights + kv_read + kv_write + state + activations; }
};

/// Shape of the work, for the parts of a cost that are not plain bytes or FLOPs. A kind uses the
/// members that its comment names; the others stay 0.
struct OperatorShape {
  double m = 0.0;                  // gemm, moe: rows (tokens)
  double n = 0.0;                  // gemm: output width; moe: expert width
  double k = 0.0;                  // gemm: input width; moe: model width
  double sequences = 0.0;          // attention, mla, state
  double heads = 0.0;              // attention, mla, state: query heads of this rank
  double kv_heads = 0.0;           // attention: key-value heads of this rank
  double tokens_read = 0.0;        // attention, mla: cached tokens read per sequence
  double experts = 0.0;            // moe: routed experts
  double experts_hit = 0.0;        // moe: distinct experts of this step, expected or known
  double experts_per_token = 0.0;  // moe
  double ranks = 1.0;              // collective
};

/// One kernel's worth of work inside a layer: no hardware in here. `count` layers of this layer
/// class do it, each with these FLOPs and bytes.
struct Operator {
  std::string_view name;
  OperatorKind kind = OperatorKind::elementwise;
  int layer_class = -1;  // index into ArchitectureSpec::classes; -1 outside the layers
  double count = 1.0;
  OperatorShape shape;
  Flops flops;
  ComputeKind compute = ComputeKind::bf16;
  FormatId format;  // of the weights (gemm, moe) or of the cache (attention, mla)
  Traffic bytes;
};

/// Operators of a step, in execution order. Equal layers appear once, with their count.
using OperatorList = std::vector<Operator>;

/// Sum of FLOPs and bytes over a list, layer counts included. Units: FLOP and bytes per rank.
struct StepWork {
  Flops flops;
  Traffic bytes;
};
StepWork total_work(const OperatorList& operators);

}  // namespace roofcast
