#pragma once

#include <string_view>

#include "model/architecture/formats.hpp"
#include "model/reference/cpu/packed_matrix.hpp"
#include "model/reference/kv_layout.hpp"
#include "model/reference/model_semantics.hpp"
#include "model/reference/operator_index.hpp"
#include "model/reference/weights.hpp"

namespace roofcast {

/// What a block of one layer is built from.
struct LayerSetup {
  std::int64_t hidden_dim = 0;
  int layer = 0;
  int layer_class = 0;
  const Formats& formats;
  OperatorIndex& operators;
  Arenas& arenas;
  const WeightSource& weights;
  KvLayout kv = {};
  const ModelSemantics& semantics;
  double routing_skew = 0.0;  // EngineOptions::routing_skew
};

/// A matrix of the layer in the format of `component`. Throws UnsupportedError, naming the format,
/// for rows that do not fit its blocks. `first_thread` as of PackedMatrix.
PackedMatrix make_matrix(const LayerSetup& setup, Component component, std::int64_t rows,
                         std::int64_t k, std::int64_t first_thread = 0);

/// The engine's form of how a component is stored. Throws UnsupportedError, naming component and
/// format, when it has none.
WeightFormat weight_format_of(const Formats& formats, Component component);

/// Throws UnsupportedError, naming what the engine has no kernel for, where `condition` holds.
void refuse_if(bool condition, std::string_view what);

}  // namespace roofcast
