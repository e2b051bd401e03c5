#include "hardware/src/machine_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hardware/src/generation.hpp"
#include "hardware/src/limits.hpp"
#include "model/base/spec_reader.hpp"

namespace roofcast {
namespace {

using Units = std::initializer_list<std::string_view>;

/// `sources:` of the file: short key -> title and URL.
using Sources = std::map<std::string, std::string, std::less<>>;

/// Capacity as sold may count GB where the driver counts GiB, but not more than that.
constexpr double kGibPerGb = 1.0737418240001;

template <std::size_t N>
std::vector<std::string> names_of(const std::array<std::string_view, N>& names) {
  return {names.begin(), names.end()};
}

class MachineReader {
 public:
  explicit MachineReader(const Document& document) : reader_(document.root, document.file) {}

  MachineSpec read(const std::vector<std::string>& generations) {
    reader_.integer("schema", 1, 1);
    reader_.accept("compute");  // else taken for a misspelt compute_units
    read_sources();
    MachineSpec machine;
    machine.name = reader_.string("name");
    machine.title = reader_.string("title");
    machine.vendor = reader_.string("vendor");
    machine.kind = static_cast<MachineKind>(reader_.choice("kind", names_of(kMachineKindNames)));
    machine.generation = generation(generations);
    machine.released = reader_.optional_string("released").value_or("");
    machine.compute_units = compute_units();
    if (auto clock = reader_.optional_child("clock"))
      machine.clock = quantity<Hertz>(*clock, {"Hz"}, kClockRange);
    read_memory(machine);
    read_peaks(machine);
    read_cache(machine);
    read_links(machine);
    if (auto tdp = reader_.optional_child("tdp")) machine.tdp_w = watts(*tdp);
    read_price(machine);
    machine.notes = reader_.optional_string("notes").value_or("");
    reader_.reject_unknown_keys();
    return machine;
  }

 private:
  std::string generation(const std::vector<std::string>& generations) {
    std::string name = reader_.string("generation");
    if (std::find(generations.begin(), generations.end(), name) == generations.end())
      reader_.fail("generation", fmt::format("expected one of {}, got {}{}", list_of(generations),
                                             in_quotes(name), did_you_mean(name, generations)));
    return name;
  }

  void read_sources() {
    SpecReader sources = reader_.child("sources");
    for (const std::string& key : sources.keys()) sources_[key] = sources.string(key);
    if (sources_.empty()) reader_.fail("sources", "expected at least one source");
  }

  std::string source(SpecReader& value) {
    const std::string key = value.string("source");
    const auto found = sources_.find(key);
    if (found != sources_.end()) return found->second;
    std::vector<std::string> keys;
    for (const auto& entry : sources_) keys.push_back(entry.first);
    value.fail("source", fmt::format("expected a key of sources, got {}{}", in_quotes(key),
                                     did_you_mean(key, keys)));
  }

  /// The rest of `{value: ..., source: ..., formula: ...}` once the value is read.
  template <typename T>
  Sourced<T> sourced(SpecReader& value, T amount) {
    Sourced<T> result{amount, source(value), value.optional_string("formula").value_or("")};
    value.reject_unknown_keys();
    return result;
  }

  template <typename Q>
  Sourced<Q> quantity(SpecReader value, Units units, QuantityRange range) {
    const Q amount{value.quantity("value", units, range)};
    return sourced(value, amount);
  }

  Sourced<double> watts(SpecReader value) {
    const double amount = value.quantity("value", {"W"}, kPowerRange);
    return sourced(value, amount);
  }

  Sourced<int> compute_units() {
    SpecReader value = reader_.child("compute_units");
    const int amount = static_cast<int>(value.integer("value", 1, 1 << 20));
    return sourced(value, amount);
  }

  void read_memory(MachineSpec& machine) {
    for (SpecReader& tier : reader_.children("memory")) {
      MemoryTier memory;
      memory.name = tier.string("name");
      memory.capacity = quantity<Bytes>(tier.child("capacity"), {"B"}, kMemoryRange);
      if (auto usable = tier.optional_child("usable_capacity")) {
        memory.usable_capacity = quantity<Bytes>(*usable, {"B"}, kMemoryRange);
        if (memory.usable() > memory.capacity.value * kGibPerGb)
          tier.fail("usable_capacity", "expected no more than the capacity counted in GiB");
      }
      memory.bandwidth = quantity<BytesPerSecond>(tier.child("bandwidth"), {"B/s"}, kByteRateRange);
      tier.reject_unknown_keys();
      machine.memory.push_back(std::move(memory));
    }
    if (machine.memory.empty()) reader_.fail("memory", "expected at least one memory");
  }

  void read_peaks(MachineSpec& machine) {
    SpecReader compute = reader_.child("compute");
    for (const std::string& key : compute.keys())
      if (key.find("sparse") != std::string::npos)
        compute.fail(key, "expected dense peaks only, the keys are those of the formats");
    for (std::size_t i = 0; i < kComputeFormats; ++i) {
      const std::string key(kComputeFormatNames[i]);
      auto peak = compute.optional_child(key);
      if (!peak) continue;
      const bool integer = key.starts_with("int");
      machine.peaks[i] =
          integer ? quantity<FlopsPerSecond>(*peak, {"OP/s", "FLOP/s"}, kOperationRateRange)
                  : quantity<FlopsPerSecond>(*peak, {"FLOP/s"}, kOperationRateRange);
    }
    compute.reject_unknown_keys();
    const auto has = [&](ComputeFormat format) {
      return machine.peaks[static_cast<std::size_t>(format)].has_value();
    };
    if (!has(ComputeFormat::fp32) && !has(ComputeFormat::fp16) && !has(ComputeFormat::bf16))
      reader_.fail("compute", "expected a peak for fp32, fp16 or bf16");
  }

  void read_cache(MachineSpec& machine) {
    auto cache = reader_.optional_child("cache");
    if (!cache) return;
    if (auto size = cache->optional_child("l2"))
      machine.cache.size = quantity<Bytes>(*size, {"B"}, kCacheRange);
    if (auto bandwidth = cache->optional_child("l2_bandwidth"))
      machine.cache.bandwidth = quantity<BytesPerSecond>(*bandwidth, {"B/s"}, kByteRateRange);
    cache->reject_unknown_keys();
  }

  void read_links(MachineSpec& machine) {
    if (!reader_.has("links")) return reader_.accept("links");
    for (SpecReader& entry : reader_.children("links")) {
      Link link;
      link.name = entry.string("name");
      link.scope = static_cast<LinkScope>(entry.choice("scope", names_of(kLinkScopeNames)));
      link.bandwidth = quantity<BytesPerSecond>(entry.child("bandwidth"), {"B/s"}, kByteRateRange);
      if (const auto devices = entry.optional_integer("max_devices", 2, 1 << 20))
        link.max_devices = static_cast<int>(*devices);
      entry.reject_unknown_keys();
      machine.links.push_back(std::move(link));
    }
  }

  void read_price(MachineSpec& machine) {
    auto price = reader_.optional_child("price");
    if (!price) return;
    machine.price = Price{.usd_per_hour = price->quantity("value", {"USD/h"}, kPriceRange),
                          .date = price->string("date"),
                          .source = source(*price)};
    price->reject_unknown_keys();
  }

  SpecReader reader_;
  Sources sources_;
};

}  // namespace

MachineSpec read_machine(const Document& document, const std::vector<std::string>& generations) {
  return MachineReader(document).read(generations);
}

MachineSpec read_machine(const Document& document) {
  return read_machine(document, generation_names(load_generations()));
}

}  // namespace roofcast
