#pragma once

#include "model/operators/operator_builder.hpp"

namespace roofcast {

/// What an indexer of sparse attention does in one pass, after its projections: it scores cached
/// keys of its own against its query heads and keeps the best.
struct IndexWork {
  double heads = 0.0;       // index query heads of this rank
  double head_dim = 0.0;    // width of an index key; one key serves all heads
  double keys_read = 0.0;   // cached index keys read per sequence
  double pairs = 0.0;       // query-key pairs scored per sequence
  double keys_added = 0.0;  // index keys that the pass appends per sequence
  double scores = 1.0;      // scores kept per pair: 1 where heads are summed, less for blocks
};

/// Appends scoring (2 * heads * head_dim FLOPs per pair, every cached index key read once) and the
/// selection, which writes and reads the kept scores in fp32.
void append_index_scores(const IndexWork& work, OperatorBuilder& builder);

}  // namespace roofcast
