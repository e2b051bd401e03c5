#include "sim/report/validation_report.hpp"

#include <fmt/format.h>

namespace roofcast {
namespace {

using K = ValueKind;
constexpr Audience kScripts = Audience::scripts;

std::vector<ValidationPoint> steps_of(const std::vector<ValidationPoint>& points) {
  return points_with(points, &ValidationPoint::operator_name, kWholeStep);
}

Table point_table(const std::vector<ValidationPoint>& points) {
  Table table{.tag = "points",
              .columns = {{"case", "case", K::text, kScripts},
                          {"operator", "operator", K::text, kScripts},
                          {"measured_s", "measured", K::duration},
                          {"predicted_s", "predicted", K::duration},
                          {"low_s", "low", K::duration},
                          {"high_s", "high", K::duration},
                          {"error", "error", K::signed_ratio},
                          {"in_range", "in range"},
                          {"reference_read", "plain read", K::byte_rate}},
              .audience = kScripts};
  for (const ValidationPoint& p : points)
    table.rows.push_back({p.case_name, p.operator_name, p.measured_s, p.predicted_s, p.low_s,
                          p.high_s, p.error(), p.in_range(), p.reference_read});
  return table;
}

/// What people read: rates of whole steps side by side. A range of times turns round as rates.
Table rate_table(const std::vector<ValidationPoint>& steps) {
  Table table{.tag = "steps",
              .title = "Measured and predicted",
              .columns = {{"case", "case"},
                          {"measured", "measured", K::token_rate},
                          {"predicted", "predicted", K::token_rate},
                          {"low", "low", K::token_rate},
                          {"high", "high", K::token_rate},
                          {"error", "error of tok/s", K::signed_ratio},
                          {"reference_read", "plain read", K::byte_rate}}};
  for (const ValidationPoint& p : steps) {
    const auto batch = static_cast<double>(p.batch);
    table.rows.push_back({p.case_name, batch / p.measured_s, batch / p.predicted_s,
                          batch / p.high_s, batch / p.low_s, p.measured_s / p.predicted_s - 1.0,
                          p.reference_read});
  }
  return table;
}

/// The largest operators of the first case: where an error comes from.
Table operator_table(const std::vector<ValidationPoint>& points) {
  Table table{.tag = "operator_steps",
              .title = "By operator",
              .columns = {{"case", "case"},
                          {"operator", "operator"},
                          {"measured", "measured", K::duration},
                          {"predicted", "predicted", K::duration},
                          {"error", "error of the time", K::signed_ratio}}};
  for (const ValidationPoint& p : points)
    if (p.operator_name != kWholeStep && p.case_name == points.front().case_name)
      table.rows.push_back({p.case_name, p.operator_name, p.measured_s, p.predicted_s, p.error()});
  return table;
}

void append_summary(const std::string& tag, const ErrorSummary& s, Audience audience,
                    Section& section) {
  const auto add = [&](const char* key, const char* name, K kind, double value) {
    section.metrics.push_back({.tag = fmt::format("summary/{}/{}", tag, key),
                               .name = name,
                               .kind = kind,
                               .value = value,
                               .audience = audience});
  };
  add("n", "points", K::count, static_cast<double>(s.n));
  add("median_abs_error", "median error", K::ratio, s.median_abs_error);
  add("p90_abs_error", "90th percentile", K::ratio, s.p90_abs_error);
  add("bias", "bias", K::signed_ratio, s.bias);
  add("coverage80", "inside the range", K::ratio, s.coverage80);
}

Section summary_section(const std::vector<ValidationPoint>& steps) {
  Section section{.title = "Error of the step time"};
  append_summary("all", summarize(steps), Audience::everyone, section);
  for (const std::string& kind : values_of(steps, &ValidationPoint::kind))
    append_summary("by_kind/" + kind, summarize(points_with(steps, &ValidationPoint::kind, kind)),
                   kScripts, section);
  for (const std::string& format : values_of(steps, &ValidationPoint::format))
    append_summary("by_format/" + format,
                   summarize(points_with(steps, &ValidationPoint::format, format)), kScripts,
                   section);
  return section;
}

Section machine_section(const ValidationResult& result) {
  const Drift& drift = result.drift;
  return {.title = "Machine",
          .metrics = {
              {"drift/calibrated", "calibrated read", K::byte_rate, drift.calibrated},
              {"drift/slowest", "slowest read", K::byte_rate, drift.slowest},
              {"drift/fastest", "fastest read", K::byte_rate, drift.fastest},
              {"drift/unsteady", "unsteady points", K::count, static_cast<double>(drift.unsteady),
               "too few of their steps ran while the machine held still"},
              {"verdict",
               "verdict",
               K::text,
               std::string(verdict_name(result.verdict)),
               "",
               {},
               kScripts},
              {"verdict_text",
               "verdict",
               K::text,
               verdict_text(result.verdict),
               "",
               {},
               Audience::people}}};
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::above_error:
      return "above_error";
    case Verdict::too_noisy:
      return "too_noisy";
    case Verdict::not_judged:
      break;
  }
  return "not_judged";
}

std::string verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::above_error:
      return "above the stated error";
    case Verdict::too_noisy:
      return "too noisy to judge: other work or a shared host changed the machine";
    case Verdict::not_judged:
      break;
  }
  return "not judged";
}

Report validation_report(const ValidationResult& result) {
  const std::vector<ValidationPoint> steps = steps_of(result.points);
  Report report{.csv_table = "points"};
  report.blocks = {machine_section(result), rate_table(steps), operator_table(result.points),
                   summary_section(steps), point_table(result.points)};
  Table notes{.tag = "notes", .columns = {{"text", "note"}}, .audience = kScripts};
  for (const std::string& note : result.notes) {
    report.blocks.emplace_back(Note{note});
    notes.rows.push_back({note});
  }
  report.blocks.emplace_back(std::move(notes));
  return report;
}

}  // namespace roofcast
