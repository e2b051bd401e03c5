#include "sim/report/calibration_report.hpp"

namespace roofcast {
namespace {

using K = ValueKind;

template <int B, int F, int S>
Cell cell(const std::optional<Quantity<B, F, S>>& value) {
  return value ? Cell{value->value} : Cell{};
}

Table primitive_table(const Calibration& calibration) {
  Table table{.tag = "primitives",
              .title = "Fitted constants",
              .columns = {{"name", "primitive"},
                          {"bandwidth", "bandwidth", K::byte_rate},
                          {"flop_rate", "FLOP/s", K::flop_rate},
                          {"t0_s", "fixed", K::duration},
                          {"low", "10 %", K::ratio},
                          {"high", "90 %", K::ratio},
                          {"points", "points", K::count}}};
  for (const CalibratedPrimitive& p : calibration.primitives)
    table.rows.push_back({p.name, cell(p.bandwidth), cell(p.flops), cell(p.t0), p.low, p.high,
                          static_cast<double>(p.points)});
  return table;
}

}  // namespace

Report calibration_report(const MachineSpec& machine, const Calibration& calibration, int redone,
                          int unsteady) {
  const Provenance& p = calibration.provenance;
  const auto text = [](const char* tag, const char* name, const std::string& value) {
    return Metric{.tag = tag,
                  .name = name,
                  .value = value,
                  .audience = value.empty() ? Audience::scripts : Audience::everyone};
  };
  Section head{.metrics = {text("name", "machine", machine.name),
                           text("device", "device", p.device),
                           text("date", "date", p.date),
                           text("compiler", "compiler", p.compiler),
                           text("clocks", "clocks", p.clocks),
                           text("mode", "mode", p.mode),
                           {"threads", "threads", K::count, static_cast<double>(p.threads)},
                           {"points", "points", K::count, static_cast<double>(p.points)},
                           {"redone", "measured again", K::count, static_cast<double>(redone),
                            "because the machine changed under them"},
                           {"unsteady", "unsteady", K::count, static_cast<double>(unsteady),
                            "kept although it changed every time"}}};
  if (calibration.cache_read)
    head.metrics.push_back(
        {"cache_bandwidth", "cache read", K::byte_rate, calibration.cache_read->bandwidth.value});
  Report report{.csv_table = "primitives"};
  report.blocks = {std::move(head), primitive_table(calibration)};
  return report;
}

}  // namespace roofcast
