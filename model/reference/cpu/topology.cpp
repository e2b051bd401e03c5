#include "model/reference/cpu/topology.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "model/reference/cpu/cpu_limits.hpp"

namespace roofcast {
namespace {

/// First line of a file, empty when there is none.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int number_in(const std::string& path, int otherwise) {
  const std::string line = first_line(path);
  int value = otherwise;
  std::from_chars(line.data(), line.data() + line.size(), value);
  return value;
}

/// Value of a "key : value" or "key: value kB" line.
std::string field_of(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::int64_t kilobytes(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value * 1024;
}

/// Size of the largest-numbered cache level of a CPU, such as "32768K".
std::int64_t last_level_cache(const std::string& cpu_folder) {
  std::int64_t size = 0;
  for (int index = 0; index < 8; ++index) {
    const std::string text =
        first_line(cpu_folder + "/cache/index" + std::to_string(index) + "/size");
    if (!text.empty()) size = std::max(size, kilobytes(text));
  }
  return size;
}

int numa_node_of(const std::string& root, int cpu) {
  for (int node = 0; node < 64; ++node) {
    const std::string list =
        first_line(root + "/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    const std::vector<int> cpus = parse_cpu_list(list);
    if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) return node;
  }
  return 0;
}

std::vector<int> allowed_cpus() {
  std::vector<int> allowed;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) allowed.push_back(cpu);
  }
  if (allowed.empty()) {
    const int count = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    for (int cpu = 0; cpu < count; ++cpu) allowed.push_back(cpu);
  }
  return allowed;
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  constexpr int kMaxCpu = 1 << 16;
  std::vector<int> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int first = 0;
    auto parsed = std::from_chars(at, end, first);
    if (parsed.ec != std::errc{} || first < 0 || first > kMaxCpu) break;
    int last = first;
    if (parsed.ptr < end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, last);
      if (parsed.ec != std::errc{} || last > kMaxCpu) break;
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (parsed.ptr == end || *parsed.ptr != ',') break;
    at = parsed.ptr + 1;
  }
  return cpus;
}

Topology read_topology(const std::string& root, const std::vector<int>& allowed) {
  Topology topology;
  std::set<std::pair<int, int>> cores;
  for (const int id : allowed) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(id);
    const Cpu cpu{.id = id,
                  .package = number_in(folder + "/topology/physical_package_id", 0),
                  .core = number_in(folder + "/topology/core_id", id),
                  .numa_node = numa_node_of(root, id)};
    if (cores.emplace(cpu.package, cpu.core).second) topology.cpus.push_back(cpu);
  }
  std::stable_sort(topology.cpus.begin(), topology.cpus.end(),
                   [](const Cpu& a, const Cpu& b) { return a.numa_node < b.numa_node; });
  topology.logical_cpus = static_cast<int>(allowed.size());
  const std::string first =
      root + "/sys/devices/system/cpu/cpu" + std::to_string(allowed.empty() ? 0 : allowed.front());
  topology.last_level_cache_bytes = last_level_cache(first);
  topology.governor = first_line(first + "/cpufreq/scaling_governor");
  topology.cpu_model = field_of(root + "/proc/cpuinfo", "model name");
  topology.memory_bytes = kilobytes(field_of(root + "/proc/meminfo", "MemTotal"));
  return topology;
}

Topology this_topology() { return read_topology("", allowed_cpus()); }

std::int64_t available_memory_bytes() {
  const std::int64_t system = kilobytes(field_of("/proc/meminfo", "MemAvailable"));
  const std::optional<std::int64_t> group = read_group_limits("").available_bytes;
  if (!group) return system;
  return system > 0 ? std::min(system, *group) : *group;
}

}  // namespace roofcast
