#include "hardware/src/machine_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hardware/src/yaml_text.hpp"

namespace roofcast {
namespace {

/// Writes the body first, because `sources:` lists what the body used.
class MachineWriter {
 public:
  MachineWriter(const MachineSpec& machine, int indent)
      : machine_(machine), indent_(static_cast<std::size_t>(indent), ' ') {}

  std::string write() {
    write_body();
    std::string body;
    std::swap(body, text_);
    line("schema: 1");
    line("name: " + yaml_quoted(machine_.name));
    line("title: " + yaml_quoted(machine_.title));
    line("vendor: " + yaml_quoted(machine_.vendor));
    line(fmt::format("kind: {}", kMachineKindNames[static_cast<std::size_t>(machine_.kind)]));
    line("generation: " + yaml_quoted(machine_.generation));
    if (!machine_.released.empty()) line("released: " + yaml_quoted(machine_.released));
    line("sources:");
    for (std::size_t i = 0; i < sources_.size(); ++i)
      line(fmt::format("  s{}: {}", i + 1, yaml_quoted(sources_[i])));
    return text_ + body;
  }

 private:
  void line(std::string_view text) { text_ += fmt::format("{}{}\n", indent_, text); }

  std::string source_key(const std::string& source) {
    auto found = std::find(sources_.begin(), sources_.end(), source);
    if (found == sources_.end()) found = sources_.insert(found, source);
    return fmt::format("s{}", found - sources_.begin() + 1);
  }

  template <typename T>
  std::string sourced(const Sourced<T>& value, const std::string& amount) {
    const std::string formula =
        value.formula.empty() ? "" : ", formula: " + yaml_quoted(value.formula);
    return fmt::format("{{value: {}, source: {}{}}}", amount, source_key(value.source), formula);
  }

  template <typename Q>
  std::string quantity(const Sourced<Q>& value, std::string_view unit) {
    return sourced(value, exact_quantity(value.value.value, unit));
  }

  void write_body() {
    const MachineSpec& m = machine_;
    line("compute_units: " + sourced(m.compute_units, fmt::format("{}", m.compute_units.value)));
    if (m.clock) line("clock: " + quantity(*m.clock, "Hz"));
    line("memory:");
    for (const MemoryTier& tier : m.memory) {
      line("  - name: " + yaml_quoted(tier.name));
      line("    capacity: " + quantity(tier.capacity, "B"));
      if (tier.usable_capacity)
        line("    usable_capacity: " + quantity(*tier.usable_capacity, "B"));
      line("    bandwidth: " + quantity(tier.bandwidth, "B/s"));
    }
    line("compute:");
    for (std::size_t i = 0; i < kComputeFormats; ++i)
      if (m.peaks[i])
        line(fmt::format("  {}: {}", kComputeFormatNames[i], quantity(*m.peaks[i], "FLOP/s")));
    write_cache();
    write_links();
    if (m.tdp_w) line("tdp: " + sourced(*m.tdp_w, exact_quantity(m.tdp_w->value, "W")));
    if (m.price)
      line(fmt::format("price: {{value: {} USD/h, date: {}, source: {}}}", m.price->usd_per_hour,
                       yaml_quoted(m.price->date), source_key(m.price->source)));
    if (!m.notes.empty()) line("notes: " + yaml_quoted(m.notes));
  }

  void write_cache() {
    const CacheSpec& cache = machine_.cache;
    if (!cache.size && !cache.bandwidth) return;
    line("cache:");
    if (cache.size) line("  l2: " + quantity(*cache.size, "B"));
    if (cache.bandwidth) line("  l2_bandwidth: " + quantity(*cache.bandwidth, "B/s"));
  }

  void write_links() {
    if (machine_.links.empty()) return;
    line("links:");
    for (const Link& link : machine_.links) {
      const std::string devices =
          link.max_devices ? fmt::format(", max_devices: {}", *link.max_devices) : "";
      line(fmt::format("  - {{name: {}, scope: {}, bandwidth: {}{}}}", yaml_quoted(link.name),
                       kLinkScopeNames[static_cast<std::size_t>(link.scope)],
                       quantity(link.bandwidth, "B/s"), devices));
    }
  }

  const MachineSpec& machine_;
  std::string indent_;
  std::string text_;
  std::vector<std::string> sources_;
};

}  // namespace

std::string write_machine_yaml(const MachineSpec& machine, int indent) {
  return MachineWriter(machine, indent).write();
}

}  // namespace roofcast
