#include "microbench/cpu_machine_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace roofcast {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string vendor_of(const std::string& slug) {
  if (contains(slug, "amd")) return "amd";
  if (contains(slug, "intel")) return "intel";
  return "cpu";
}

/// AMD's only CPUs with bf16 so far are Zen 4 and Zen 5, which share constants here.
std::string generation_of(const std::string& vendor, IsaLevel isa) {
  return vendor == "amd" && isa == IsaLevel::avx512_bf16 ? "zen4" : "cpu";
}

}  // namespace

std::string cpu_slug(const std::string& cpu_model, int threads) {
  std::string slug;
  for (const char c : cpu_model.empty() ? std::string("cpu") : cpu_model) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0)
      slug += static_cast<char>(std::tolower(byte));
    else if (!slug.empty() && slug.back() != '-')
      slug += '-';
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return fmt::format("{}-{}c", slug.empty() ? "cpu" : slug, threads);
}

MachineSpec describe_cpu(const Topology& topology, int threads, IsaLevel isa, const CpuPeaks& peaks,
                         const std::string& date) {
  const std::string measured = fmt::format("measured on {}", date);
  const std::string system = "the operating system";
  MachineSpec machine;
  machine.name = cpu_slug(topology.cpu_model, threads);
  machine.title =
      fmt::format("{}, {} cores", topology.cpu_model.empty() ? "CPU" : topology.cpu_model, threads);
  machine.vendor = vendor_of(machine.name);
  machine.kind = MachineKind::cpu;
  machine.generation = generation_of(machine.vendor, isa);
  machine.compute_units = {threads, system, ""};
  machine.memory.push_back(
      {.name = "dram",
       .capacity = {{static_cast<double>(std::max<std::int64_t>(topology.memory_bytes, 1))},
                    system,
                    ""},
       .usable_capacity = std::nullopt,
       .bandwidth = {{peaks.read_bandwidth}, measured, "highest read of all threads"}});
  // VDPBF16PS does two products per fp32 lane; without it bf16 is computed in fp32.
  const double fp32 = isa == IsaLevel::avx512_bf16 ? 0.5 * peaks.dot_rate : peaks.dot_rate;
  const auto rate = [&](double value, const char* formula) {
    return Sourced<FlopsPerSecond>{{value}, measured, formula};
  };
  machine.peaks[static_cast<std::size_t>(ComputeFormat::bf16)] =
      rate(peaks.dot_rate, "highest burst of dot products in registers");
  machine.peaks[static_cast<std::size_t>(ComputeFormat::fp32)] =
      rate(fp32, isa == IsaLevel::avx512_bf16 ? "half of bf16" : "as bf16");
  if (isa != IsaLevel::portable) {
    // VPDPBUSD does four products of bytes per lane, where VDPBF16PS does two; in AVX2 a product of
    // byte pairs stands beside two multiply-adds.
    for (const ComputeFormat format : {ComputeFormat::int8, ComputeFormat::int4})
      machine.peaks[static_cast<std::size_t>(format)] =
          rate(2.0 * peaks.dot_rate, "twice bf16: products of bytes");
  }
  if (topology.last_level_cache_bytes > 0)
    machine.cache.size = {{static_cast<double>(topology.last_level_cache_bytes)}, system, ""};
  return machine;
}

}  // namespace roofcast
