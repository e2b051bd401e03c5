#include <doctest/doctest.h>

#include <set>
#include <string>

#include "hardware/src/machine.hpp"

namespace roofcast {
namespace {

/// Every source text of a spec.
std::set<std::string> sources_of(const MachineSpec& machine) {
  std::set<std::string> sources = {machine.compute_units.source};
  for (const MemoryTier& tier : machine.memory) {
    sources.insert(tier.capacity.source);
    sources.insert(tier.bandwidth.source);
    if (tier.usable_capacity) sources.insert(tier.usable_capacity->source);
  }
  for (const auto& peak : machine.peaks)
    if (peak) sources.insert(peak->source);
  for (const Link& link : machine.links) sources.insert(link.bandwidth.source);
  if (machine.clock) sources.insert(machine.clock->source);
  if (machine.cache.size) sources.insert(machine.cache.size->source);
  if (machine.cache.bandwidth) sources.insert(machine.cache.bandwidth->source);
  if (machine.tdp_w) sources.insert(machine.tdp_w->source);
  if (machine.price) sources.insert(machine.price->source);
  return sources;
}

TEST_CASE("at least 52 machines are shipped, and each loads with its generation") {
  CHECK(list_machines().size() >= 52);
  for (const std::string& name : list_machines()) {
    CAPTURE(name);
    const Machine machine = load_hardware("nominal/" + name);
    CHECK(machine.spec.name == name);
    CHECK(machine.generation.name == machine.spec.generation);
    CHECK_FALSE(machine.calibration.has_value());
  }
}

TEST_CASE("every calibrated file loads with its machine") {
  for (const std::string& name : list_calibrated_machines()) {
    CAPTURE(name);
    CHECK(load_hardware("calibrated/" + name).calibration.has_value());
  }
}

TEST_CASE("every value of a shipped machine names a title and a public address") {
  for (const std::string& name : list_machines()) {
    CAPTURE(name);
    for (const std::string& source : sources_of(load_machine("nominal/" + name))) {
      CAPTURE(source);
      const auto url = source.find(", https://");
      CHECK(url != std::string::npos);
      CHECK(url > 4);
    }
  }
}

TEST_CASE("peaks of narrower formats are never below those of wider ones") {
  // Holds for every data sheet's floats; a swapped or sparse figure breaks it.
  using F = ComputeFormat;
  for (const std::string& name : list_machines()) {
    CAPTURE(name);
    const MachineSpec machine = load_machine("nominal/" + name);
    const auto peak = [&](F format) { return machine.peaks[static_cast<std::size_t>(format)]; };
    for (const auto& [wide, narrow] :
         {std::pair{F::fp64, F::fp32}, {F::fp32, F::bf16}, {F::bf16, F::fp8}, {F::fp8, F::fp4}})
      if (peak(wide) && peak(narrow)) CHECK(peak(wide)->value <= peak(narrow)->value);
  }
}

TEST_CASE("an 8-bit peak is at most 2.1 times the 16-bit one, as dense figures are") {
  // bf16 dense beside fp8 sparse would be 4 times; no shipped chip doubles more than once per
  // halving.
  using F = ComputeFormat;
  for (const std::string& name : list_machines()) {
    CAPTURE(name);
    const MachineSpec machine = load_machine("nominal/" + name);
    const double wide = peak_flops(machine, F::bf16).flops.value;
    const PeakFlops narrow = peak_flops(machine, F::fp8);
    CHECK(narrow.flops.value <= 2.1 * wide);
  }
}

}  // namespace
}  // namespace roofcast
