#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "hardware/src/calibration.hpp"
#include "hardware/src/machine_writer.hpp"
#include "hardware/src/yaml_text.hpp"

namespace roofcast {
namespace {

/// Collects "key: value" entries of a flow map; absent values leave no entry.
class FlowMap {
 public:
  template <typename Q>
  void add(std::string_view key, const std::optional<Q>& quantity, std::string_view unit) {
    if (quantity) add(key, exact_quantity(quantity->value, unit));
  }
  void add(std::string_view key, std::string_view value) {
    entries_.push_back(fmt::format("{}: {}", key, value));
  }
  std::string text() const { return fmt::format("{{{}}}", fmt::join(entries_, ", ")); }

 private:
  std::vector<std::string> entries_;
};

std::string primitive_text(const CalibratedPrimitive& primitive) {
  FlowMap map;
  map.add("bandwidth", primitive.bandwidth, "B/s");
  map.add("flops", primitive.flops, "FLOP/s");
  map.add("t0", primitive.t0, "s");
  map.add("t0_graph", primitive.t0_graph, "s");
  map.add("c_k", primitive.c_k, "s");
  map.add("c1", primitive.c1, "s");
  map.add("c2", primitive.c2, "s");
  map.add("c_mla", primitive.c_mla, "s");
  map.add("io_bandwidth", primitive.io_bandwidth, "B/s");
  if (primitive.norm) map.add("norm", fmt::format("{}", *primitive.norm));
  map.add("low", fmt::format("{}", primitive.low));
  map.add("high", fmt::format("{}", primitive.high));
  if (primitive.held_out) map.add("held_out", fmt::format("{}", *primitive.held_out));
  if (primitive.held_out_p90) map.add("held_out_p90", fmt::format("{}", *primitive.held_out_p90));
  map.add("points", fmt::format("{}", primitive.points));
  map.add("min_bytes", primitive.min_bytes, "B");
  map.add("max_bytes", primitive.max_bytes, "B");
  return map.text();
}

std::string provenance_text(const Provenance& provenance) {
  std::string text = "provenance:\n";
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {}: {}\n", key, yaml_quoted(value));
  };
  const auto add_count = [&](std::string_view key, std::int64_t value) {
    if (value != 0) text += fmt::format("  {}: {}\n", key, value);
  };
  add("device", provenance.device);
  add("driver", provenance.driver);
  add("toolkit", provenance.toolkit);
  add("compiler", provenance.compiler);
  add("clocks", provenance.clocks);
  add("mode", provenance.mode);
  add_count("threads", provenance.threads);
  add("date", provenance.date);
  add("commit", provenance.commit);
  add_count("points", provenance.points);
  add("notes", provenance.notes);
  return text;
}

std::string all_reduce_text(const AllReduceConstants& constants) {
  FlowMap map;
  map.add("a1", std::optional(constants.a1), "s");
  map.add("b1", std::optional(constants.b1), "s");
  map.add("w1", std::optional(constants.w1), "B/s");
  map.add("a2", std::optional(constants.a2), "s");
  map.add("b2", std::optional(constants.b2), "s");
  map.add("w2", std::optional(constants.w2), "B/s");
  return map.text();
}

std::string write(const Calibration& calibration, std::string_view machine_part) {
  if (calibration.provenance.device.empty() || calibration.provenance.date.empty())
    throw std::invalid_argument("a calibration needs the device and the date in its provenance");
  if (calibration.primitives.empty())
    throw std::invalid_argument("a calibration needs at least one primitive");
  std::string text = fmt::format("schema: 1\ncalibration: {}\n{}{}primitives:\n",
                                 yaml_quoted(calibration.device_kind), machine_part,
                                 provenance_text(calibration.provenance));
  for (const CalibratedPrimitive& primitive : calibration.primitives)
    text += fmt::format("  {}: {}\n", primitive.name, primitive_text(primitive));
  if (calibration.reference)
    text += fmt::format("reference: {{read: {}, dot: {}}}\n",
                        exact_quantity(calibration.reference->read.value, "B/s"),
                        exact_quantity(calibration.reference->dot.value, "FLOP/s"));
  if (!calibration.thread_reads.empty()) text += "thread_reads:\n";
  for (const ThreadRead& read : calibration.thread_reads)
    text += fmt::format("  - {{first_thread: {}, threads: {}, bandwidth: {}}}\n", read.first_thread,
                        read.threads, exact_quantity(read.bandwidth.value, "B/s"));
  if (calibration.cache_read)
    text += fmt::format("cache_read: {{size: {}, bandwidth: {}}}\n",
                        exact_quantity(calibration.cache_read->size.value, "B"),
                        exact_quantity(calibration.cache_read->bandwidth.value, "B/s"));
  if (calibration.all_reduce)
    text += fmt::format("all_reduce: {}\n", all_reduce_text(*calibration.all_reduce));
  return text;
}

}  // namespace

std::string write_calibration_yaml(const Calibration& calibration, const MachineSpec& machine) {
  return write(calibration, "machine:\n" + write_machine_yaml(machine, 2));
}

std::string write_calibration_yaml(const Calibration& calibration, std::string_view machine_name) {
  return write(calibration, fmt::format("machine: {}\n", yaml_quoted(machine_name)));
}

}  // namespace roofcast
