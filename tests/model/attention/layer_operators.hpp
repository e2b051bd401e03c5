#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "model/operators/operator_builder.hpp"

namespace roofcast {

/// Operators that one layer of `kind` appends, and a way to name them.
template <typename Kind>
OperatorList layer_operators(const Kind& kind, double hidden_dim, const StepShape& step,
                             const Formats& formats = {}) {
  OperatorList operators;
  OperatorBuilder builder(hidden_dim, formats, step, operators);
  kind.append_operators(builder);
  return operators;
}

inline bool has_operator(const OperatorList& operators, std::string_view name) {
  return std::any_of(operators.begin(), operators.end(),
                     [name](const Operator& op) { return op.name == name; });
}

inline const Operator& operator_named(const OperatorList& operators, std::string_view name) {
  const auto found = std::find_if(operators.begin(), operators.end(),
                                  [name](const Operator& op) { return op.name == name; });
  const std::string wanted(name);
  CAPTURE(wanted);
  REQUIRE(found != operators.end());
  return *found;
}

/// Sum over every weight byte of the list: what the layer reads however many tokens there are.
inline double weight_bytes_of(const OperatorList& operators) {
  return total_work(operators).bytes.weights.value;
}

}  // namespace roofcast
