#include "hardware/src/all_reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

AllReduceConstants scaled(const AllReduceDefaults& row, BytesPerSecond link) {
  return {row.a1, row.b1, link * row.w1, row.a2, row.b2, link * row.w2};
}

bool joins(const Link* link, int devices) {
  return link != nullptr && (!link->max_devices || devices <= *link->max_devices);
}

}  // namespace

const Link& all_reduce_link(const MachineSpec& machine, int devices) {
  for (const LinkScope scope : {LinkScope::node, LinkScope::host}) {
    const Link* const link = find_link(machine, scope);
    if (joins(link, devices)) return *link;
  }
  throw UnsupportedError(fmt::format("{}: no link joins {} devices", machine.name, devices));
}

AllReduceCeiling all_reduce_ceiling(const Machine& machine, int devices) {
  if (devices < 2) throw std::invalid_argument("an all-reduce takes 2 devices or more");
  const Generation& generation = machine.generation;
  const Link& link = all_reduce_link(machine.spec, devices);
  const bool over_node = link.scope == LinkScope::node;
  if (over_node && machine.calibration && machine.calibration->all_reduce)
    return {.constants = *machine.calibration->all_reduce,
            .low = generation.low,
            .high = generation.high,
            .origin = "calibrated all_reduce"};
  const AllReduceDefaults& row =
      over_node ? generation.all_reduce_node : generation.all_reduce_host;
  return {
      .constants = scaled(row, link.bandwidth.value),
      .low = generation.low,
      .high = generation.high,
      .origin = fmt::format("generation {} over {}: {}", generation.name, link.name, row.origin)};
}

Seconds all_reduce_seconds(const AllReduceConstants& constants, Bytes message, int devices) {
  if (devices <= 1) return {};
  const double others = devices - 1;
  const Seconds one_shot = constants.a1 + constants.b1 * others + message * others / constants.w1;
  const Seconds two_shot =
      constants.a2 + constants.b2 * others + message * (2.0 * others / devices) / constants.w2;
  return std::min(one_shot, two_shot);
}

Seconds all_reduce_seconds(const Machine& machine, Bytes message, int devices) {
  if (devices <= 1) return {};
  return all_reduce_seconds(all_reduce_ceiling(machine, devices).constants, message, devices);
}

}  // namespace roofcast
