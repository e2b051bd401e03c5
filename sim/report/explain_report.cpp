#include "sim/report/explain_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/operators/decode_step.hpp"
#include "sim/make_cost_model.hpp"
#include "sim/report/prediction_report.hpp"
#include "sim/report/spec_facts.hpp"

namespace roofcast {
namespace {

constexpr Audience kScripts = Audience::scripts;

Cell number_or_blank(double value) { return value != 0.0 ? Cell{value} : Cell{}; }

std::string layers_text(const ArchitectureSpec& spec, const Operator& op) {
  if (op.layer_class < 0) return "-";
  const Layer& layer = spec.classes[static_cast<std::size_t>(op.layer_class)].layer;
  return fmt::format("{}+{}", spec.mixers[static_cast<std::size_t>(layer.mixer)].name,
                     spec.ffns[static_cast<std::size_t>(layer.ffn)].name);
}

std::string shape_text(const Operator& op) {
  const OperatorShape& s = op.shape;
  switch (op.kind) {
    case OperatorKind::gemm:
      return fmt::format("{:.6g} x {:.6g} x {:.6g}", s.m, s.n, s.k);
    case OperatorKind::attention:
      return fmt::format("{:.6g} seq, {:.4g}:{:.4g} heads, {:.6g} tok", s.sequences, s.heads,
                         s.kv_heads, s.tokens_read);
    case OperatorKind::mla:
      return fmt::format("{:.6g} seq, {:.4g} heads, {:.6g} tok", s.sequences, s.heads,
                         s.tokens_read);
    case OperatorKind::moe:
      return fmt::format("{:.6g} x {:.6g} x {:.6g}, {:.4g} of {:.4g} experts", s.m, s.n, s.k,
                         s.experts_hit, s.experts);
    case OperatorKind::state:
      return fmt::format("{:.6g} seq, {:.4g} heads", s.sequences, s.heads);
    case OperatorKind::collective:
      return fmt::format("{:.4g} ranks", s.ranks);
    case OperatorKind::elementwise:
      return "";
  }
  return {};
}

std::string bound_text(const OperatorCost& cost) {
  const auto largest = std::max_element(cost.shares.begin(), cost.shares.end());
  return std::string(kTimeShareNames[static_cast<std::size_t>(largest - cost.shares.begin())]);
}

std::vector<Cell> operator_row(const ArchitectureSpec& spec, const Operator& op,
                               const OperatorCost& cost, const CostModel& model) {
  const PrimitiveCost& p = model.primitives[static_cast<std::size_t>(op.kind)];
  const OperatorCeiling ceiling = operator_ceiling(op, model);
  const Traffic& b = op.bytes;
  const double memory = b.memory().value;
  const bool collective = op.kind == OperatorKind::collective;
  const Cell none;
  return {std::string(op.name),
          std::string(kOperatorKindNames[static_cast<std::size_t>(op.kind)]),
          layers_text(spec, op),
          op.count,
          shape_text(op),
          std::string(op.format.name()),
          std::string(compute_kind_name(op.compute)),
          number_or_blank(op.flops.value),
          number_or_blank(b.weights.value),
          number_or_blank(b.kv_read.value),
          number_or_blank(b.kv_write.value),
          number_or_blank(b.state.value),
          number_or_blank(b.activations.value),
          number_or_blank(b.collective.value),
          memory > 0.0 && op.flops.value > 0.0 ? Cell{op.flops.value / memory} : none,
          collective ? none : Cell{ceiling.bandwidth},
          op.flops.value > 0.0 ? Cell{ceiling.flops} : none,
          cost.fixed_s,
          cost.memory_s,
          cost.compute_s,
          cost.extra_s,
          cost.seconds,
          cost.seconds * op.count,
          bound_text(cost),
          p.origin};
}

std::vector<Column> operator_columns() {
  using K = ValueKind;
  return {{"name", "operator"},
          {"kind", "kind", K::text, kScripts},
          {"layer_class", "layers"},
          {"count", "count", K::count},
          {"shape", "shape"},
          {"format", "format", K::text, kScripts},
          {"compute", "compute", K::text, kScripts},
          {"flops", "FLOP", K::flops},
          {"bytes/weights", "weights", K::bytes},
          {"bytes/kv_read", "KV read", K::bytes},
          {"bytes/kv_write", "KV write", K::bytes},
          {"bytes/state", "state", K::bytes},
          {"bytes/activations", "activ.", K::bytes},
          {"bytes/collective", "collective", K::bytes},
          {"arithmetic_intensity", "intensity", K::intensity},
          {"bandwidth", "bandwidth", K::byte_rate, kScripts},
          {"flop_rate", "FLOP/s", K::flop_rate, kScripts},
          {"fixed_s", "fixed", K::duration},
          {"memory_s", "memory", K::duration},
          {"compute_s", "compute", K::duration},
          {"extra_s", "extra", K::duration, kScripts},
          {"seconds", "per layer", K::duration},
          {"total_s", "in all", K::duration},
          {"bound", "bound"},
          {"origin", "origin", K::text, kScripts}};
}

/// Columns of work that no operator has (state, collectives) are for scripts only.
void hide_empty_columns(Table& table) {
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool any = std::any_of(table.rows.begin(), table.rows.end(), [c](const auto& row) {
      return !std::holds_alternative<std::monostate>(row[c]);
    });
    if (!any) table.columns[c].audience = kScripts;
  }
}

Table operator_table(const Explanation& e, const OperatorList& operators, double working_set) {
  Table table{.tag = "operators",
              .title = e.load.tp > 1 ? "Operators of one rank (work and time per layer)"
                                     : "Operators (work and time per layer)",
              .columns = operator_columns()};
  for (const Operator& op : operators)
    table.rows.push_back(
        operator_row(e.spec, op, cost_operator(op, e.cost_model, working_set), e.cost_model));
  hide_empty_columns(table);
  return table;
}

Table ceiling_table(const CostModel& model, const OperatorList& operators) {
  using K = ValueKind;
  Table table{.tag = "ceilings",
              .title = "Ceilings",
              .columns = {{"kind", "kind"},
                          {"format", "format"},
                          {"compute", "compute"},
                          {"bandwidth", "bandwidth", K::byte_rate},
                          {"flop_rate", "FLOP/s", K::flop_rate},
                          {"fixed_s", "fixed", K::duration},
                          {"low", "low", K::ratio},
                          {"high", "high", K::ratio},
                          {"origin", "origin"}}};
  for (const Operator& op : operators) {
    if (op.kind == OperatorKind::collective) continue;
    const PrimitiveCost& p = model.primitives[static_cast<std::size_t>(op.kind)];
    const OperatorCeiling ceiling = operator_ceiling(op, model);
    const bool computes = op.flops.value > 0.0;
    std::vector<Cell> row = {
        std::string(kOperatorKindNames[static_cast<std::size_t>(op.kind)]),
        std::string(op.format.name()),
        computes ? Cell{std::string(compute_format_name(ceiling.multiplied))} : Cell{},
        ceiling.bandwidth,
        computes ? Cell{ceiling.flops} : Cell{},
        p.fixed_s,
        ceiling.low,
        ceiling.high,
        p.origin};
    if (std::find(table.rows.begin(), table.rows.end(), row) == table.rows.end())
      table.rows.push_back(std::move(row));
  }
  return table;
}

Section step_section(const Explanation& e, const StepEstimate& step, double operator_s) {
  const auto line = [](const char* key, const char* name, double seconds, std::string why = "") {
    return Metric{.tag = fmt::format("step/{}", key),
                  .name = name,
                  .kind = ValueKind::duration,
                  .value = seconds,
                  .description = std::move(why)};
  };
  Section s{
      .title = "Step",
      .metrics = {
          line("operators_s", "operators", operator_s, "sum of the column \"in all\""),
          line("layer_overhead_s", "layer overhead", step.device_s - operator_s),
          line("device_s", "device", step.device_s),
          line("host_floor_s", "host floor", step.host_floor_s,
               "issuing the kernels; the slower of device and host counts"),
          line("host_per_step_s", "host per step", e.cost_model.host_per_step_s, "not overlapped"),
          line("seconds", "TPOT", step.seconds)}};
  if (step.device_s - operator_s <= 1e-12 * step.device_s) s.metrics[1].audience = kScripts;
  s.metrics[1].value = std::max(0.0, step.device_s - operator_s);
  s.metrics.back().range = {step.low_s, step.high_s};
  s.metrics.push_back(
      {"step/range", "80 % range", ValueKind::text, range_reason(e.cost_model, e.unmeasured)});
  s.metrics.push_back({"step/tokens_per_second", "in total", ValueKind::token_rate,
                       static_cast<double>(e.load.batch) / step.seconds});
  return s;
}

}  // namespace

Report explain_report(const Explanation& e) {
  const StepShape shape{.sequences = static_cast<double>(e.load.batch),
                        .context = static_cast<double>(e.load.context),
                        .tp = e.load.tp};
  const OperatorList operators = decode_step(e.spec, shape);
  const StepEstimate step = estimate_step(operators, e.cost_model);
  const double working_set = step.work.bytes.memory().value;
  double operator_s = 0.0;
  for (const Operator& op : operators)
    operator_s += cost_operator(op, e.cost_model, working_set).seconds * op.count;

  Report report{.csv_table = "operators"};
  report.blocks = {subject_section(e.spec, e.hardware, e.engine, e.load),
                   spec_section(e.spec),
                   attention_table(e.spec),
                   operator_table(e, operators, working_set),
                   ceiling_table(e.cost_model, operators),
                   step_section(e, step, operator_s),
                   share_section(step),
                   provenance_table(e.provenance),
                   warning_table(e.warnings)};
  return report;
}

}  // namespace roofcast
