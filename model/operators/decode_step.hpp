#pragma once

#include "model/operators/operator.hpp"
#include "model/operators/step_shape.hpp"

namespace roofcast {

struct ArchitectureSpec;

/// Work of one forward pass of one tensor-parallel rank, as operators in execution order with equal
/// layers grouped. Decode and prefill differ in `shape` only; the lm_head works on the last token
/// of each sequence. Appends to `out`, which a caller can reuse to avoid allocation.
void append_step(const ArchitectureSpec& spec, const StepShape& shape, OperatorList& out);

/// `append_step` into a fresh list.
OperatorList decode_step(const ArchitectureSpec& spec, const StepShape& shape);

}  // namespace roofcast
