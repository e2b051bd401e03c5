#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/reference/cpu/thread_pool.hpp"

namespace roofcast {

/// What the control groups of this process allow; empty where they set no limit.
struct GroupLimits {
  std::optional<double> cpus;                   // CPU time per time
  std::optional<std::int64_t> available_bytes;  // of memory, beyond what is in use
};

/// The tightest limits of version 1 and 2 groups of this process, by the files below `root` ("" in
/// use, a folder in tests).
GroupLimits read_group_limits(const std::string& root);

/// Whether the system gives huge pages to those who ask: false when it says never. `root` as above.
bool huge_pages_allowed(const std::string& root);

/// What the system keeps from a pool's threads and from measurements made on it, one sentence each:
/// threads that are not pinned, a quota of CPU time below their number, no huge pages.
std::vector<std::string> limits_of(const ThreadPool& pool);

}  // namespace roofcast
