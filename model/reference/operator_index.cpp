#include "model/reference/operator_index.hpp"

#include <string>
#include <utility>

#include "model/base/error.hpp"

namespace roofcast {

OperatorIndex::OperatorIndex(OperatorList operators)
    : operators_(std::move(operators)), claimed_(operators_.size(), false) {}

int OperatorIndex::claim(int layer_class, std::string_view name) {
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    if (operators_[i].layer_class != layer_class || operators_[i].name != name) continue;
    claimed_[i] = true;
    return static_cast<int>(i);
  }
  throw UnsupportedError("the reference engine runs " + in_quotes(name) +
                         ", which this model's operator list lacks");
}

void OperatorIndex::check_all_claimed() const {
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    if (!claimed_[i])
      throw UnsupportedError("the reference engine has no kernel for operator " +
                             in_quotes(operators_[i].name));
  }
}

}  // namespace roofcast
