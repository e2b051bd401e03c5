#include "sim/provenance.hpp"

#include <fmt/format.h>

#include "model/base/prefix.hpp"

namespace roofcast {
namespace {

template <typename T>
std::string source_text(const Sourced<T>& sourced) {
  return sourced.formula.empty() ? sourced.source
                                 : fmt::format("{} ({})", sourced.source, sourced.formula);
}

void append_memory(const MemoryTier& tier, std::vector<ProvenanceRow>& rows) {
  const std::string key = "hardware.memory." + tier.name;
  const Sourced<Bytes>& capacity = tier.usable_capacity ? *tier.usable_capacity : tier.capacity;
  rows.push_back({key + (tier.usable_capacity ? ".usable_capacity" : ".capacity"),
                  tier.usable_capacity ? format_binary_bytes(capacity.value.value)
                                       : format_si(capacity.value.value, "B"),
                  source_text(capacity)});
  rows.push_back({key + ".bandwidth", format_si(tier.bandwidth.value.value, "B/s"),
                  source_text(tier.bandwidth)});
}

ProvenanceRow calibration_row(const Machine& machine) {
  if (!machine.calibration)
    return {"calibration", "none",
            fmt::format("efficiencies typical of generation {}", machine.generation.name)};
  const Provenance& p = machine.calibration->provenance;
  std::string source = fmt::format("{} points on {}, {}", p.points, p.device, p.date);
  for (const std::string& part : {p.driver, p.toolkit, p.compiler, p.clocks, p.mode, p.commit})
    if (!part.empty()) source += ", " + part;
  return {"calibration", machine.calibration->device_kind, source};
}

}  // namespace

std::vector<ProvenanceRow> provenance_of(const ArchitectureSpec& spec) {
  return {{"model", spec.name, spec.source}};
}

std::vector<ProvenanceRow> provenance_of(const Machine& machine) {
  const MachineSpec& spec = machine.spec;
  std::vector<ProvenanceRow> rows;
  rows.push_back({"hardware", spec.name, spec.title});
  for (const MemoryTier& tier : spec.memory) append_memory(tier, rows);
  for (std::size_t i = 0; i < kComputeFormats; ++i)
    if (spec.peaks[i])
      rows.push_back({fmt::format("hardware.compute.{}", kComputeFormatNames[i]),
                      format_si(spec.peaks[i]->value.value, "FLOP/s"),
                      source_text(*spec.peaks[i])});
  for (const Link& link : spec.links)
    rows.push_back({"hardware.links." + link.name + ".bandwidth",
                    format_si(link.bandwidth.value.value, "B/s"), source_text(link.bandwidth)});
  rows.push_back(calibration_row(machine));
  return rows;
}

std::vector<ProvenanceRow> provenance_of(const EngineProfile& engine) {
  return {{"engine", engine.name, engine.source}};
}

}  // namespace roofcast
