#pragma once

#include <string_view>
#include <vector>

#include "model/operators/operator.hpp"

namespace roofcast {

/// The model's operator list, as the engine's blocks find their own work in it: measured and
/// predicted operators are the same list, so they compare one to one.
class OperatorIndex {
 public:
  explicit OperatorIndex(OperatorList operators);

  const OperatorList& operators() const { return operators_; }

  /// Position of the operator of this layer class. Throws UnsupportedError when the list has none:
  /// the engine would do work that the model does not count.
  int claim(int layer_class, std::string_view name);

  /// Throws UnsupportedError when an operator was never claimed: the engine would leave it out.
  void check_all_claimed() const;

 private:
  OperatorList operators_;
  std::vector<bool> claimed_;
};

}  // namespace roofcast
