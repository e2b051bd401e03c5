#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// One logical CPU that this process may use.
struct Cpu {
  int id = 0;
  int package = 0;
  int core = 0;  // unique inside a package
  int numa_node = 0;
  bool operator==(const Cpu&) const = default;
};

/// The CPUs of this process and the facts that a measurement has to record.
struct Topology {
  std::vector<Cpu> cpus;  // one per physical core, by node, then id
  int logical_cpus = 0;
  std::int64_t last_level_cache_bytes = 0;  // of one instance; 0: unknown
  std::string cpu_model;                    // as the system names it
  std::string governor;                     // frequency governor; empty: none visible
  std::int64_t memory_bytes = 0;
};

/// CPU numbers of a kernel list such as "0-3,8,10-11". Entries that are not numbers end the list.
std::vector<int> parse_cpu_list(std::string_view text);

/// CPUs among `allowed` by the files below `root` ("" in use, a folder in tests): one per physical
/// core, first of its siblings.
Topology read_topology(const std::string& root, const std::vector<int>& allowed);

/// The topology of this machine, limited to the CPUs that this process may run on.
Topology this_topology();

/// Bytes that can be used without swapping and within this process's control groups; 0 when the
/// system does not say.
std::int64_t available_memory_bytes();

}  // namespace roofcast
