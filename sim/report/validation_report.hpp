#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"
#include "sim/validation.hpp"

namespace roofcast {

/// What `validate` answers: measured beside predicted, errors, drift of the machine, verdict.
struct ValidationResult {
  std::vector<ValidationPoint> points;  // steps and operators
  Drift drift;
  Verdict verdict = Verdict::not_judged;
  std::vector<std::string> notes;  // what was scaled down or lost, for people and scripts
};

Report validation_report(const ValidationResult& result);

/// For scripts: "ok", "above_error", "too_noisy", "not_judged".
std::string_view verdict_name(Verdict verdict);

/// For people: "ok", "above the stated error", "too noisy to judge", "not judged: no --max-error".
std::string verdict_text(Verdict verdict);

}  // namespace roofcast
