#include "hardware/src/generation.hpp"

#include <doctest/doctest.h>

#include <string>

#include "hardware/src/data_files.hpp"
#include "model/base/error.hpp"
#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

const Generation& find(const std::vector<Generation>& generations, const std::string& name) {
  for (const Generation& generation : generations)
    if (generation.name == name) return generation;
  FAIL("no generation ", name);
  return generations.front();
}

double read_share(const Generation& generation) { return generation.primitives[0].bandwidth; }

TEST_CASE("read efficiencies lie where published kernel fits and read kernels put them") {
  const auto generations = load_generations();
  // Fits of aiconfigurator tables: Ampere 0.80, Ada 0.79 to 0.85, Hopper 0.93, Blackwell 7275 GB/s
  // of a B200's 7680 bit x 7.992 Gbit/s / 8 = 7672 GB/s; a read kernel reaches 7.30 TB/s on a B300.
  CHECK(read_share(find(generations, "ampere")) == relative(0.80).epsilon(0.01));
  CHECK(read_share(find(generations, "ada")) >= 0.79);
  CHECK(read_share(find(generations, "ada")) <= 0.85);
  CHECK(read_share(find(generations, "hopper")) == relative(0.93).epsilon(0.01));
  CHECK(read_share(find(generations, "blackwell")) == relative(7275.0 / 7672).epsilon(0.01));
}

TEST_CASE("launch times are those of back-to-back small kernels") {
  // gpu-benches, gpu-small-kernels (us, stream / graph): H200 2.46 / 1.28, A100 2.66 / 1.36, L40
  // 1.63 / 0.96, MI210 2.05 / 2.08 to 2.01.
  const auto generations = load_generations();
  const auto check = [&](const char* name, double stream, double graph) {
    CHECK(find(generations, name).launch_stream.value == relative(stream).epsilon(0.01));
    CHECK(find(generations, name).launch_graph.value == relative(graph).epsilon(0.04));
  };
  check("hopper", 2.46e-6, 1.28e-6);
  check("ampere", 2.66e-6, 1.36e-6);
  check("ada", 1.63e-6, 0.96e-6);
  check("cdna2", 2.05e-6, 2.08e-6);
}

TEST_CASE("every row of every generation says where it comes from, and borrowed rows say so") {
  for (const Generation& generation : load_generations()) {
    CAPTURE(generation.name);
    for (const PrimitiveDefaults& row : generation.primitives) CHECK(row.origin.size() > 6);
    CHECK(generation.all_reduce_node.origin.size() > 6);
    CHECK(generation.low <= 1.0);
    CHECK(generation.high >= 1.0);
  }
  const auto generations = load_generations();
  const Generation& volta = find(generations, "volta");
  CHECK(volta.primitives[1].origin.starts_with("assumed as ampere: "));
}

TEST_CASE("a generation without measurements has a wider range than one with") {
  const auto generations = load_generations();
  const auto width = [&](const char* name) {
    const Generation& generation = find(generations, name);
    return generation.high / generation.low;
  };
  for (const char* unmeasured : {"gaudi", "tpu", "xe2", "rdna2", "volta", "cpu"})
    CHECK(width(unmeasured) > width("ampere"));
}

std::string error_of(const std::string& yaml) {
  try {
    read_generations(parse_yaml(yaml, "g.yaml"));
  } catch (const SpecError& error) {
    return error.what();
  }
  return "no error";
}

const std::string kHead = "schema: 1\nsources: {a: assumed}\ngenerations:\n";

TEST_CASE("a circle of generations is refused where it closes") {
  const std::string range = ", title: T, range: {low: 1, high: 1, source: a}}\n";
  CHECK(error_of(kHead + "  x: {like: y" + range + "  y: {like: x" + range) ==
        "g.yaml:5:13: generations.y.like: expected no circle of generations");
}

TEST_CASE("a generation that is like nothing must list everything") {
  CHECK(error_of(kHead + "  x: {title: T}\n") ==
        "g.yaml:4:6: generations.x.read: missing, expected this key");
}

TEST_CASE("a share above one is refused") {
  CHECK(error_of(kHead + "  x: {title: T, read: {bandwidth: 1.2, source: a}}\n") ==
        "g.yaml:4:35: generations.x.read.bandwidth: expected a number from 0.001 to 1, got "
        "\"1.2\"");
}

}  // namespace
}  // namespace roofcast
