#include "model/reference/state_layer_parts.hpp"

#include "model/base/error.hpp"

namespace roofcast {
void fill_stacked(PackedMatrix& matrix, int thread, int layer,
                  std::initializer_list<StackedRows> tensors, const WeightSource& weights) {
  matrix.fill(thread, [&](std::int64_t row, Bf16* out) {
    for (const StackedRows& part : tensors) {
      if (row < part.rows)
        return weights({.tensor = part.tensor, .layer = layer, .row = row, .width = matrix.k()},
                       out);
      row -= part.rows;
    }
  });
}

void run_products(StepContext& step, int thread, int op, std::span<const ProductRows> products,
                  const Bf16* x) {
  Traffic& bytes = step.recorder.bytes(thread, op);
  bool any = false;
  for (const auto& [weights, out] : products) {
    weights.multiply(step.kernels, thread, x, step.batch, nullptr, out);
    const std::int64_t rows = weights.slab(thread).size();
    if (rows == 0) continue;
    any = true;
    bytes.weights += Bytes{weights.slab_bytes(thread)};
    bytes.activations += bf16_bytes(step.batch * rows);
  }
  // Products after the first find x in the nearest cache.
  if (any) bytes.activations += bf16_bytes(step.batch * products.front().weights.k());
  step.recorder.finish(thread, op);
}

std::vector<float> load_floats(const LayerSetup& setup, Tensor tensor, std::int64_t width) {
  std::vector<float> values;
  for (const Bf16 bits : load_vector(setup.weights, tensor, setup.layer, width))
    values.push_back(bf16_to_float(bits));
  return values;
}

std::vector<float> load_rates(const LayerSetup& setup, std::int64_t width) {
  std::vector<float> rates = load_floats(setup, Tensor::decay_log, width);
  for (float& rate : rates) rate = std::exp(rate);
  return rates;
}

void run_gated_norm(StepContext& step, int thread, int op, const GatedNormRows& rows) {
  const Range own = part_of(step.batch * rows.groups, thread, step.pool.size());
  const bool shared = static_cast<std::int64_t>(rows.weight.size()) == rows.width;
  for (std::int64_t item = own.begin; item < own.end; ++item) {
    const std::int64_t group = item % rows.groups * rows.width;
    step.kernels.gated_norm(
        {.x = rows.x + item * rows.width,
         .gate = rows.gates.data + item / rows.groups * rows.gates.stride + group,
         .weight = rows.weight.data() + (shared ? 0 : group),
         .out = rows.out + item * rows.width,
         .n = rows.width,
         .epsilon = step.norm_epsilon,
         .order = rows.order});
  }
  Traffic& bytes = step.recorder.bytes(thread, op);
  bytes.activations += bf16_bytes(3 * own.size() * rows.width);
  // Once: later items find the weights in the cache.
  if (thread == 0) bytes.weights += bf16_bytes(static_cast<std::int64_t>(rows.weight.size()));
  step.recorder.finish(thread, op);
}

void check_state_shape(std::int64_t key_dim, std::int64_t value_dim) {
  if (key_dim % kStateKeyStep != 0 || value_dim % kStateColumns != 0 || key_dim > kMaxStateKeyDim ||
      key_dim < 1 || value_dim < 1)
    throw UnsupportedError("the reference engine has no kernel for states of " +
                           std::to_string(key_dim) + " x " + std::to_string(value_dim) +
                           " (key and value widths must be multiples of 4 and 16, keys at most " +
                           std::to_string(kMaxStateKeyDim) + " wide)");
}

}  // namespace roofcast
