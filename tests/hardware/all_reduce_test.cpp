#include "hardware/src/all_reduce.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "hardware/src/machine.hpp"
#include "model/base/error.hpp"
#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

TEST_CASE("the faster of one-shot and two-shot counts") {
  const AllReduceConstants constants{
      .a1 = {4e-6}, .b1 = {1e-7}, .w1 = {250e9}, .a2 = {7e-6}, .b2 = {2e-7}, .w2 = {280e9}};
  // One-shot: 4 + 0.7 + 64e3 x 7 / 250e9 = 6.492 us; two-shot: 7 + 1.4 + 0.4 = 8.8 us.
  CHECK(all_reduce_seconds(constants, {64e3}, 8).value == relative(6.492e-6));
  // 8 MB: one-shot 4.7 + 224 = 228.7 us; two-shot 8.4 + 2 x 8e6 x 7 / 8 / 280e9 = 58.4 us.
  CHECK(all_reduce_seconds(constants, {8e6}, 8).value == relative(58.4e-6));
}

TEST_CASE("one device has nothing to reduce") {
  CHECK(all_reduce_seconds(load_hardware("nominal/m1"), {1e6}, 1).value == 0.0);
}

TEST_CASE("small messages between 8 H100s take what vLLM's custom kernel takes in a graph") {
  // Fit to the published table: 4.25 + 0.06 x 7 + 16384 x 7 / 263e9 = 5.1 us.
  CHECK(all_reduce_seconds(load_hardware("nominal/h100-sxm"), {16384.0}, 8).value ==
        relative(5.1e-6).epsilon(0.1));
}

TEST_CASE("time grows with the message and with the number of devices") {
  const Machine machine = load_hardware("nominal/h200");
  double last = 0.0;
  for (const double bytes : {1e3, 1e4, 1e5, 1e6, 1e7}) {
    const double time = all_reduce_seconds(machine, {bytes}, 8).value;
    CHECK(time > last);
    CHECK(time > all_reduce_seconds(machine, {bytes}, 2).value);
    last = time;
  }
}

TEST_CASE("more devices than a bridge joins go over the host link") {
  // NVLink bridges of an A100 PCIe join pairs.
  const Machine machine = load_hardware("nominal/a100-pcie-80gb");
  CHECK(all_reduce_ceiling(machine, 2).origin.find("over nvlink3") != std::string::npos);
  CHECK(all_reduce_ceiling(machine, 4).origin.find("over pcie4x16") != std::string::npos);
  CHECK(all_reduce_ceiling(machine, 4).constants.w1 < all_reduce_ceiling(machine, 2).constants.w1);
}

TEST_CASE("no constant is above the link's bandwidth on any shipped machine") {
  for (const std::string& name : list_machines()) {
    CAPTURE(name);
    const Machine machine = load_hardware("nominal/" + name);
    double fastest = 0.0;
    for (const Link& link : machine.spec.links)
      fastest = std::max(fastest, link.bandwidth.value.value);
    if (find_link(machine.spec, LinkScope::node) == nullptr &&
        find_link(machine.spec, LinkScope::host) == nullptr)
      continue;
    const AllReduceConstants constants = all_reduce_ceiling(machine, 2).constants;
    CHECK(constants.w1.value <= fastest);
    CHECK(constants.w2.value <= fastest);
  }
}

TEST_CASE("devices that nothing joins are refused") {
  CHECK_THROWS_WITH_AS(all_reduce_ceiling(load_hardware("nominal/m1"), 2),
                       "m1: no link joins 2 devices", UnsupportedError);
  CHECK_THROWS_AS(all_reduce_ceiling(load_hardware("nominal/h100-sxm"), 1), std::invalid_argument);
}

TEST_CASE("calibrated constants hold for the node link") {
  Machine machine = load_hardware("nominal/a100-pcie-80gb");
  machine.calibration.emplace();
  machine.calibration->all_reduce = AllReduceConstants{
      .a1 = {1e-6}, .b1 = {0.0}, .w1 = {1e11}, .a2 = {2e-6}, .b2 = {0.0}, .w2 = {1e11}};
  CHECK(all_reduce_ceiling(machine, 2).constants.a1.value == 1e-6);
  CHECK(all_reduce_ceiling(machine, 4).constants.a1.value != 1e-6);
}

}  // namespace
}  // namespace roofcast
