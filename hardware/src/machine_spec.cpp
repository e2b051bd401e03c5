#include "hardware/src/machine_spec.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace roofcast {

PeakFlops peak_flops(const MachineSpec& machine, ComputeFormat format) {
  for (const ComputeFormat candidate : fallback_formats(format))
    if (const auto& peak = machine.peaks[static_cast<std::size_t>(candidate)])
      return {peak->value, candidate};
  throw std::invalid_argument(
      fmt::format("{} has no peak for {}", machine.name, compute_format_name(format)));
}

const Link* find_link(const MachineSpec& machine, LinkScope scope) {
  for (const Link& link : machine.links)
    if (link.scope == scope) return &link;
  return nullptr;
}

}  // namespace roofcast
