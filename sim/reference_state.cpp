#include "sim/reference_state.hpp"

#include <algorithm>

namespace roofcast {

Machine at_reference(Machine machine, const ReferenceRates& rates) {
  if (!machine.calibration || !machine.calibration->reference) return machine;
  const double read = rates.read / machine.calibration->reference->read;
  const double dot = rates.dot / machine.calibration->reference->dot;
  for (CalibratedPrimitive& primitive : machine.calibration->primitives) {
    // Operands of elementwise kernels stay in the caches, which the state of the memory leaves
    // alone.
    if (primitive.name == primitive_name(Primitive::elementwise)) continue;
    if (primitive.bandwidth) *primitive.bandwidth = *primitive.bandwidth * read;
    if (primitive.io_bandwidth) *primitive.io_bandwidth = *primitive.io_bandwidth * read;
    if (primitive.flops) *primitive.flops = *primitive.flops * dot;
  }
  BytesPerSecond& peak = machine.spec.memory.front().bandwidth.value;
  peak = peak * std::max(1.0, read);
  for (auto& flops : machine.spec.peaks)
    if (flops) flops->value = flops->value * std::max(1.0, dot);
  machine.calibration->reference = rates;
  return machine;
}

}  // namespace roofcast
