#include "model/reference/cpu/cpu_limits.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace roofcast {
namespace {

namespace fs = std::filesystem;

/// A folder with the files of one machine.
fs::path machine_with(const std::vector<std::pair<const char*, const char*>>& files) {
  const fs::path root = fs::path(ROOFCAST_BINARY_DIR) / "limited_machine";
  fs::remove_all(root);
  for (const auto& [name, text] : files) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }
  return root;
}

TEST_CASE("the tightest quota and memory of a version 2 group and those above it count") {
  const fs::path root = machine_with(
      {{"proc/self/cgroup", "0::/slice/box\n"},
       {"sys/fs/cgroup/slice/box/cpu.max", "max 100000\n"},
       {"sys/fs/cgroup/slice/cpu.max", "150000 100000\n"},
       {"sys/fs/cgroup/slice/box/memory.max", "1000\n"},
       {"sys/fs/cgroup/slice/box/memory.current", "700\n"},
       {"sys/fs/cgroup/slice/box/memory.stat", "anon 500\ninactive_file 200\nslab 0\n"},
       {"sys/fs/cgroup/memory.max", "max\n"}});
  const GroupLimits limits = read_group_limits(root.string());
  CHECK(limits.cpus == 1.5);
  // 1000 - (700 - 200 of cached files).
  CHECK(limits.available_bytes == 500);
}

TEST_CASE("version 1 groups are read below their controllers, at the root of a container too") {
  const fs::path root =
      machine_with({{"proc/self/cgroup", "4:memory:/docker/x\n2:cpu,cpuacct:/docker/x\n"},
                    {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"},
                    {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
                    {"sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n"},
                    {"sys/fs/cgroup/memory/memory.usage_in_bytes", "5000\n"}});
  const GroupLimits limits = read_group_limits(root.string());
  CHECK(limits.cpus == 0.5);
  CHECK(limits.available_bytes == 0);
}

TEST_CASE("groups without limits, or no groups at all, limit nothing") {
  const fs::path unlimited =
      machine_with({{"proc/self/cgroup", "4:memory:/\n2:cpu:/\nodd line\n"},
                    {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
                    {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
                    {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"}});
  CHECK_FALSE(read_group_limits(unlimited.string()).cpus);
  CHECK_FALSE(read_group_limits(unlimited.string()).available_bytes);
  CHECK_FALSE(read_group_limits("/nonexistent").cpus);
  CHECK_FALSE(read_group_limits("/nonexistent").available_bytes);
}

TEST_CASE("huge pages are missing where the system says never, or says nothing") {
  const char* const file = "sys/kernel/mm/transparent_hugepage/enabled";
  CHECK(huge_pages_allowed(machine_with({{file, "always [madvise] never\n"}}).string()));
  CHECK(huge_pages_allowed(machine_with({{file, "[always] madvise never\n"}}).string()));
  CHECK_FALSE(huge_pages_allowed(machine_with({{file, "always madvise [never]\n"}}).string()));
  CHECK_FALSE(huge_pages_allowed("/nonexistent"));
}

TEST_CASE("threads that nothing pins are said to be lost") {
  ThreadPool pool({-1, -1});
  pool.run([](int) {});
  CHECK(pool.unpinned() == 2);
  const std::vector<std::string> limits = limits_of(pool);
  REQUIRE_FALSE(limits.empty());
  CHECK(limits.front() == "2 of 2 threads are not pinned, so they can share a core");
}

TEST_CASE("a CPU that cannot be had leaves its thread to the system, and the pool works") {
  constexpr int kNoSuchCpu = 1000;
  ThreadPool pool({kNoSuchCpu});
  int runs = 0;
  pool.run([&](int) { ++runs; });
  CHECK(runs == 1);
  CHECK(pool.unpinned() == 1);
}

}  // namespace
}  // namespace roofcast
