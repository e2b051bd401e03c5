#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "model/reference/weights.hpp"

namespace roofcast {

using Vector = std::vector<double>;

/// Values of one row, exact.
using ExactRows = std::function<Vector(const TensorRow& row)>;

/// Products with a model's tensors in double, each row read once.
class ExactWeights {
 public:
  explicit ExactWeights(ExactRows rows) : rows_(std::move(rows)) {}

  const Vector& row(Tensor tensor, int layer, std::int64_t index, std::int64_t width) {
    Vector& values = read_[{tensor, layer, index}];
    if (values.empty()) values = rows_({tensor, layer, index, width});
    return values;
  }

  /// Rows [first, first + rows) times x.
  Vector times(Tensor tensor, int layer, std::int64_t rows, const Vector& x,
               std::int64_t first = 0) {
    Vector y;
    for (std::int64_t i = first; i < first + rows; ++i) {
      const Vector& w = row(tensor, layer, i, static_cast<std::int64_t>(x.size()));
      y.push_back(std::inner_product(w.begin(), w.end(), x.begin(), 0.0));
    }
    return y;
  }

 private:
  ExactRows rows_;
  std::map<std::tuple<Tensor, int, std::int64_t>, Vector> read_;
};

inline void add_to(Vector& sum, const Vector& other, double factor = 1.0) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor * other[i];
}

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// x / sqrt(mean of squares + epsilon), times offset + weight.
inline Vector exact_norm(const Vector& x, const Vector& weight, double epsilon, double offset) {
  const double squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
  const double rms = std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
  Vector y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(x[i] / rms * (offset + weight[i]));
  return y;
}

}  // namespace roofcast
