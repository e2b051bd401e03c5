#pragma once

#include <string>

#include "hardware/src/machine_spec.hpp"
#include "model/reference/cpu/isa.hpp"
#include "model/reference/cpu/topology.hpp"

namespace roofcast {

/// Highest rates seen on this machine.
struct CpuPeaks {
  double read_bandwidth = 0.0;  // bytes/s
  double dot_rate = 0.0;        // FLOP/s in bf16
};

/// A machine file for this CPU in place of a data sheet: what the system says of it, and the
/// highest rates that were measured on `threads` of its cores as peaks.
MachineSpec describe_cpu(const Topology& topology, int threads, IsaLevel isa, const CpuPeaks& peaks,
                         const std::string& date);

/// A name for files: lower case, digits and dashes, such as "amd-epyc-9554-64c".
std::string cpu_slug(const std::string& cpu_model, int threads);

}  // namespace roofcast
