#include "model/reference/cpu/topology.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace roofcast {
namespace {

using Numbers = std::vector<int>;

TEST_CASE("kernel lists of CPUs are numbers and ranges") {
  CHECK(parse_cpu_list("0-3,8,10-11") == Numbers{0, 1, 2, 3, 8, 10, 11});
  CHECK(parse_cpu_list("5") == Numbers{5});
  CHECK(parse_cpu_list("").empty());
  CHECK(parse_cpu_list("x").empty());
  CHECK(parse_cpu_list("1,x") == Numbers{1});
  CHECK(parse_cpu_list("3-1").empty());
  CHECK(parse_cpu_list("0-4000000000").empty());
}

void write(const std::filesystem::path& path, const char* text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// Two nodes with one core each, two hardware threads per core: CPUs 0 and 2, 1 and 3.
std::filesystem::path fake_machine() {
  const std::filesystem::path root = std::filesystem::path(ROOFCAST_BINARY_DIR) / "fake_machine";
  std::filesystem::remove_all(root);
  const char* packages[] = {"1", "0", "1", "0"};
  for (int i = 0; i < 4; ++i) {
    const auto cpu = root / ("sys/devices/system/cpu/cpu" + std::to_string(i));
    write(cpu / "topology/physical_package_id", packages[i]);
    write(cpu / "topology/core_id", "0");
    write(cpu / "cache/index0/size", "32K");
    write(cpu / "cache/index3/size", "16384K");
    write(cpu / "cpufreq/scaling_governor", "performance");
  }
  write(root / "sys/devices/system/node/node0/cpulist", "1,3\n");
  write(root / "sys/devices/system/node/node1/cpulist", "0,2\n");
  write(root / "proc/cpuinfo", "processor\t: 0\nmodel name\t: Fake CPU 9000\n");
  write(root / "proc/meminfo", "MemTotal:       1000 kB\n");
  return root;
}

TEST_CASE("one CPU per physical core is kept, ordered by node") {
  const Topology t = read_topology(fake_machine().string(), {0, 1, 2, 3});
  CHECK(t.cpus == std::vector<Cpu>{{1, 0, 0, 0}, {0, 1, 0, 1}});
  CHECK(t.logical_cpus == 4);
  CHECK(t.last_level_cache_bytes == 16 << 20);
  CHECK(t.cpu_model == "Fake CPU 9000");
  CHECK(t.governor == "performance");
  CHECK(t.memory_bytes == 1024000);
}

TEST_CASE("a machine without these files still has the CPUs it was given") {
  const Topology t = read_topology("/nonexistent", {4, 5});
  CHECK(t.cpus == std::vector<Cpu>{{4, 0, 4, 0}, {5, 0, 5, 0}});
  CHECK(t.last_level_cache_bytes == 0);
  CHECK(t.cpu_model.empty());
}

TEST_CASE("this machine has a CPU and memory") {
  CHECK_FALSE(this_topology().cpus.empty());
  CHECK(available_memory_bytes() >= 0);
}

}  // namespace
}  // namespace roofcast
