#pragma once

#include <string>

#include "hardware/src/machine.hpp"
#include "model/base/quantity.hpp"

namespace roofcast {

/// Constants of an all-reduce over some devices of one machine, and where they come from.
struct AllReduceCeiling {
  AllReduceConstants constants;
  double low = 1.0;
  double high = 1.0;
  std::string origin;
};

/// The link that joins `devices` devices of one machine: the node link, else the host link. Throws
/// UnsupportedError when neither does.
const Link& all_reduce_link(const MachineSpec& machine, int devices);

/// Constants for `devices` devices (2 or more) of this machine in one node: over the node link when
/// it joins that many, else over the host link. Calibrated ones hold for the node link. Throws
/// UnsupportedError when no link joins them, std::invalid_argument for fewer than 2 devices.
AllReduceCeiling all_reduce_ceiling(const Machine& machine, int devices);

/// min(a1 + b1 (n - 1) + S (n - 1) / w1, a2 + b2 (n - 1) + 2 S (n - 1) / n / w2): each device sends
/// all to all (one-shot), or reduce-scatter and all-gather (two-shot). Zero for one device.
Seconds all_reduce_seconds(const AllReduceConstants& constants, Bytes message, int devices);

/// `all_reduce_seconds` with the constants of `all_reduce_ceiling`.
Seconds all_reduce_seconds(const Machine& machine, Bytes message, int devices);

}  // namespace roofcast
