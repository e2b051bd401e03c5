#pragma once

#include "model/architecture/hf_decoder.hpp"

namespace roofcast::detail {

/// Adds the vision tower and its projector to the parts that are resident and not read in a decode
/// step; warns when the tower is of a kind whose size is not known.
void read_vision(HfModel& model);

}  // namespace roofcast::detail
