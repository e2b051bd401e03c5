#include "model/reference/cpu/cpu_limits.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace roofcast {
namespace {

/// All words of a file; none when it cannot be read.
std::vector<std::string> words_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> words;
  for (std::string word; file >> word;) words.push_back(word);
  return words;
}

/// The first word of a file as a number; empty for "max", for none, and for what version 1 writes
/// when there is no limit (-1, or nearly 2^63).
std::optional<std::int64_t> limit_in(const std::string& path) {
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;
  const std::vector<std::string> words = words_of(path);
  std::int64_t value = 0;
  if (words.empty() || !(std::istringstream(words.front()) >> value)) return std::nullopt;
  return value < 0 || value >= kNoLimit ? std::nullopt : std::optional(value);
}

template <typename T>
void tighten(std::optional<T>& limit, std::optional<T> other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

std::optional<double> ratio(std::optional<std::int64_t> quota, std::optional<std::int64_t> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

/// A number behind its name in a file of such lines; 0 when there is none.
std::int64_t stat_in(const std::string& path, const std::string& name) {
  const std::vector<std::string> words = words_of(path);
  const auto found = std::find(words.begin(), words.end(), name);
  return found == words.end() || found + 1 == words.end() ? 0 : std::atoll((found + 1)->c_str());
}

/// What is left of a limit; cached files count as used and make room when it is needed.
std::optional<std::int64_t> left(std::optional<std::int64_t> limit,
                                 std::optional<std::int64_t> used, std::int64_t cached) {
  if (!limit) return std::nullopt;
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, used.value_or(0) - cached));
}

void add_version2(const std::string& folder, GroupLimits& limits) {
  const std::vector<std::string> cpu = words_of(folder + "/cpu.max");
  if (cpu.size() == 2 && cpu.front() != "max")
    tighten(limits.cpus, ratio(std::atoll(cpu[0].c_str()), std::atoll(cpu[1].c_str())));
  tighten(limits.available_bytes,
          left(limit_in(folder + "/memory.max"), limit_in(folder + "/memory.current"),
               stat_in(folder + "/memory.stat", "inactive_file")));
}

void add_version1(const std::string& folder, GroupLimits& limits) {
  tighten(limits.cpus,
          ratio(limit_in(folder + "/cpu.cfs_quota_us"), limit_in(folder + "/cpu.cfs_period_us")));
  tighten(limits.available_bytes, left(limit_in(folder + "/memory.limit_in_bytes"),
                                       limit_in(folder + "/memory.usage_in_bytes"),
                                       stat_in(folder + "/memory.stat", "total_inactive_file")));
}

/// Calls `visit` for the group's folder and all above it; a group that a container does not show
/// under its name is its root.
template <typename Visit>
void for_each_level(const std::string& mount, std::string group, const Visit& visit) {
  while (!group.empty() && group != "/") {
    visit(mount + group);
    group.erase(group.find_last_of('/'));
  }
  visit(mount);
}

}  // namespace

GroupLimits read_group_limits(const std::string& root) {
  GroupLimits limits;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "4:cpu,cpuacct:/group" in version 1, "0::/group" in version 2.
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    const std::string mount = root + "/sys/fs/cgroup";
    if (controllers.empty())
      for_each_level(mount, group, [&](const std::string& at) { add_version2(at, limits); });
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');)
      if (name == "cpu" || name == "memory")
        for_each_level(std::string(mount).append("/").append(name), group,
                       [&](const std::string& at) { add_version1(at, limits); });
  }
  return limits;
}

bool huge_pages_allowed(const std::string& root) {
  const std::vector<std::string> modes =
      words_of(root + "/sys/kernel/mm/transparent_hugepage/enabled");
  return !modes.empty() && std::find(modes.begin(), modes.end(), "[never]") == modes.end();
}

std::vector<std::string> limits_of(const ThreadPool& pool) {
  std::vector<std::string> limits;
  const int free = pool.unpinned();
  if (free > 0)
    limits.push_back(std::to_string(free) + " of " + std::to_string(pool.size()) +
                     " threads are not pinned, so they can share a core");
  const GroupLimits groups = read_group_limits("");
  if (groups.cpus && *groups.cpus < pool.size()) {
    char quota[32];
    std::snprintf(quota, sizeof quota, "%.3g", *groups.cpus);
    limits.push_back("a quota of " + std::string(quota) + " CPUs for " +
                     std::to_string(pool.size()) + " threads, which stop when it is used up");
  }
  if (!huge_pages_allowed("")) limits.push_back("no huge pages, so reads wait for page tables too");
  return limits;
}

}  // namespace roofcast
