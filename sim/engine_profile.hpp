#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/document.hpp"
#include "model/base/quantity.hpp"

namespace roofcast {

/// Against which ceiling an engine's kernels are costed: the data sheet's (a bound that nothing can
/// beat) or what kernels reach on that machine (calibrated, or typical of its generation).
enum class CeilingBasis { peak, attainable };

/// How kernels reach the device, which decides the fixed cost of each.
enum class LaunchMode { none, graph, stream };

/// How an engine executes a step. Values come from sim/engines/NAME.yaml.
struct EngineProfile {
  std::string name;
  std::string title;
  std::string source;
  CeilingBasis ceilings = CeilingBasis::attainable;
  LaunchMode launch = LaunchMode::graph;
  Seconds kernel_overhead;  // on top of the machine's own launch cost, per kernel
  Seconds layer_overhead;   // per layer, device side
  Seconds host_per_kernel;  // host time that limits how fast kernels can be issued
  Seconds host_per_step;    // host work that cannot overlap the device (sampling, scheduling)
  std::int64_t prefill_chunk = 0;  // tokens per prefill pass; 0: the whole prompt at once
  double time_low = 1.0;   // 80 % range of measured/predicted step time of this engine, beyond the
  double time_high = 1.0;  // spread of the primitives

  bool operator==(const EngineProfile&) const = default;
};

EngineProfile read_engine(const Document& document);

/// Names of the shipped engine profiles and of those in $ROOFCAST_DATA/engines, sorted.
std::vector<std::string> engine_names();

/// The profile called `name` or stored in the file `name`. Throws SpecError with the nearest name.
Document find_engine(const std::string& name);

}  // namespace roofcast
