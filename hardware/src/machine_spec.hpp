#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/src/compute_format.hpp"
#include "model/base/quantity.hpp"

namespace roofcast {

/// A value of a data sheet and where it stands. `formula` says how it follows from what the source
/// states ("12 channels x 4800 MT/s x 8 B"); empty when the source states it as it is.
template <typename T>
struct Sourced {
  T value{};
  std::string source;
  std::string formula;
  bool operator==(const Sourced&) const = default;
};

/// One level of memory that can hold weights and KV cache: HBM, the host's DRAM, ...
struct MemoryTier {
  std::string name;
  Sourced<Bytes> capacity;  // as sold: "80 GB", although most of it is counted in GiB
  std::optional<Sourced<Bytes>> usable_capacity;  // as the driver reports it to a program
  Sourced<BytesPerSecond> bandwidth;              // peak of reads
  bool operator==(const MemoryTier&) const = default;

  /// What a program can allocate: as the driver reports, else as sold.
  Bytes usable() const { return usable_capacity ? usable_capacity->value : capacity.value; }
};

/// The last cache level before memory (L2, L3, Infinity Cache), shared by the whole device.
struct CacheSpec {
  std::optional<Sourced<Bytes>> size;
  std::optional<Sourced<BytesPerSecond>> bandwidth;  // measured
  bool operator==(const CacheSpec&) const = default;
};

/// What a link connects a device to: the other devices of its node or rack, the host, other nodes.
enum class LinkScope { node, host, scale_out };
inline constexpr std::array<std::string_view, 3> kLinkScopeNames = {"node", "host", "scale_out"};

struct Link {
  std::string name;
  LinkScope scope = LinkScope::node;
  Sourced<BytesPerSecond> bandwidth;  // one direction, one device, all its ports together
  std::optional<int> max_devices;     // largest group that it joins
  bool operator==(const Link&) const = default;
};

struct Price {
  double usd_per_hour = 0.0;
  std::string date;  // "2026-03"
  std::string source;
  bool operator==(const Price&) const = default;
};

/// `soc` has one memory for CPU and GPU.
enum class MachineKind { gpu, cpu, tpu, accelerator, soc };
inline constexpr std::array<std::string_view, 5> kMachineKindNames = {"gpu", "cpu", "tpu",
                                                                      "accelerator", "soc"};

/// A device as its vendor describes it, one file in hardware/. Peaks are dense: data sheets lead
/// with figures for sparse operands, which no decode kernel reaches. A CPU of two sockets is one
/// device; the two dies of a package are one device unless the file says otherwise.
struct MachineSpec {
  std::string name;
  std::string title;
  std::string vendor;
  MachineKind kind = MachineKind::gpu;
  std::string generation;      // key of hardware/generations.yaml
  std::string released;        // "2022-09"; empty when not given
  Sourced<int> compute_units;  // SMs, CUs, GPU or CPU cores, tensor cores
  std::optional<Sourced<Hertz>> clock;
  std::vector<MemoryTier> memory;  // fastest first, never empty
  std::array<std::optional<Sourced<FlopsPerSecond>>, kComputeFormats> peaks;
  CacheSpec cache;
  std::vector<Link> links;
  std::optional<Sourced<double>> tdp_w;
  std::optional<Price> price;
  std::string notes;
  bool operator==(const MachineSpec&) const = default;
};

/// A peak and the format that it belongs to, which differs from the one asked for on machines
/// without units for that.
struct PeakFlops {
  FlopsPerSecond flops;
  ComputeFormat format;
};

/// The peak at which operands of `format` multiply, by `fallback_formats`. Throws
/// std::invalid_argument when nothing stands in, which for a spec made by the reader can only
/// happen for fp64.
PeakFlops peak_flops(const MachineSpec& machine, ComputeFormat format);

/// The first link of this scope; nullptr when there is none.
const Link* find_link(const MachineSpec& machine, LinkScope scope);

}  // namespace roofcast
