#include "model/reference/step_context.hpp"

#include <algorithm>

namespace roofcast {
const RotaryTable& rotary_table(const StepContext& step, const RotaryKey& key) {
  return *std::find_if(step.rotary.begin(), step.rotary.end(),
                       [&key](const RotaryTable& table) { return table.key == key; });
}

void multiply_own_rows(StepContext& step, int thread, int op, const PackedMatrix& weights,
                       const std::vector<Bf16>& bias, const Bf16* x, Bf16* y) {
  weights.multiply(step.kernels, thread, x, step.batch, bias.empty() ? nullptr : bias.data(), y);
  const std::int64_t rows = weights.slab(thread).size();
  if (rows == 0) return;
  Traffic& bytes = step.recorder.bytes(thread, op);
  bytes.weights += Bytes{weights.slab_bytes(thread)};
  if (!bias.empty()) bytes.weights += bf16_bytes(rows);
  bytes.activations += bf16_bytes(step.batch * (weights.k() + rows));
}

void run_gemm(StepContext& step, int thread, int op, const PackedMatrix& weights,
              const std::vector<Bf16>& bias, const Bf16* x, Bf16* y) {
  multiply_own_rows(step, thread, op, weights, bias, x, y);
  step.recorder.finish(thread, op);
}

void run_norm(StepContext& step, int thread, int op, const std::vector<Bf16>& weight,
              const Bf16* y) {
  const auto n = static_cast<std::int64_t>(weight.size());
  const Range own = part_of(step.batch, thread, step.pool.size());
  for (std::int64_t row = own.begin; row < own.end; ++row) {
    step.kernels.add_norm({.residual = step.activations.residual.data() + row * n,
                           .y = y == nullptr ? nullptr : y + row * n,
                           .weight = weight.data(),
                           .x = step.activations.x.data() + row * n,
                           .n = n,
                           .epsilon = step.norm_epsilon,
                           .weight_offset = step.norm_offset});
  }
  Traffic& bytes = step.recorder.bytes(thread, op);
  bytes.activations += bf16_bytes(own.size() * n * (y == nullptr ? 2 : 4));
  // Once: rows after the first find the weights in the cache.
  if (thread == 0) bytes.weights += bf16_bytes(n);
  step.recorder.finish(thread, op);
}

void run_post_norm(StepContext& step, int thread, int op, const std::vector<Bf16>& weight) {
  const auto n = static_cast<std::int64_t>(weight.size());
  const Range own = part_of(step.batch, thread, step.pool.size());
  for (std::int64_t row = own.begin; row < own.end; ++row) {
    Bf16* const y = step.activations.y.data() + row * n;
    step.kernels.add_norm({.residual = y,
                           .y = nullptr,
                           .weight = weight.data(),
                           .x = y,
                           .n = n,
                           .epsilon = step.norm_epsilon,
                           .weight_offset = step.norm_offset});
  }
  // The residual is added by the norm that follows.
  Traffic& bytes = step.recorder.bytes(thread, op);
  bytes.activations += bf16_bytes(own.size() * n * 2);
  if (thread == 0) bytes.weights += bf16_bytes(n);
  step.recorder.finish(thread, op);
}

std::vector<Bf16> load_vector(const WeightSource& source, Tensor tensor, int layer,
                              std::int64_t width, std::int64_t row) {
  std::vector<Bf16> values(static_cast<std::size_t>(width));
  source({.tensor = tensor, .layer = layer, .row = row, .width = width}, values.data());
  return values;
}

}  // namespace roofcast
