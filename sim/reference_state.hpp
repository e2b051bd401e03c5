#pragma once

#include "hardware/src/machine.hpp"

namespace roofcast {

/// The machine as it is at a moment when a plain read and dot products reach `rates`: calibrated
/// bandwidths and FLOP rates scaled by how these differ from the calibration's own reference.
/// Returns the machine unchanged when it has none. A faster moment raises the data sheet's peaks
/// too, as those of a measured machine are what it was seen to reach.
Machine at_reference(Machine machine, const ReferenceRates& rates);

}  // namespace roofcast
