#pragma once

#include "model/architecture/formats.hpp"
#include "model/reference/cpu/packed_matrix.hpp"
#include "model/reference/kv_layout.hpp"
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
};

}  // namespace roofcast
