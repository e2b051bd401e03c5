#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "model/reference/cpu/packed_matrix.hpp"
#include "model/reference/cpu/split_recurrence.hpp"
#include "model/reference/layer_setup.hpp"
#include "model/reference/step_context.hpp"

namespace roofcast {

/// log(1 + exp(x)), without overflow.
inline float softplus(float x) { return x > 20.0F ? x : std::log1p(std::exp(x)); }

inline float sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }

/// Element `index` of the row of one sequence.
inline float element(const VectorRows& rows, std::int64_t sequence, std::int64_t index) {
  return bf16_to_float(rows.data[sequence * rows.stride + index]);
}

/// Rows of one tensor in a matrix that stacks several.
struct StackedRows {
  Tensor tensor;
  std::int64_t rows = 0;
};

/// Fills a matrix that stacks tensors on each other, the rows of `thread`.
void fill_stacked(PackedMatrix& matrix, int thread, int layer,
                  std::initializer_list<StackedRows> tensors, const WeightSource& weights);

/// One of several products with the same input, and where it goes: (batch, rows).
struct ProductRows {
  const PackedMatrix& weights;
  Bf16* out = nullptr;
};

/// Products that the operator list counts as one, with x (batch, k), by all threads, which then
/// meet. Each has an output of its own, as the products that follow want contiguous rows.
void run_products(StepContext& step, int thread, int op, std::span<const ProductRows> products,
                  const Bf16* x);

/// A vector tensor in fp32.
std::vector<float> load_floats(const LayerSetup& setup, Tensor tensor, std::int64_t width);

/// exp of a vector tensor: decay rates, which are stored as logarithms.
std::vector<float> load_rates(const LayerSetup& setup, std::int64_t width);

/// The gated norm of a state layer: `groups` runs of `width` values per sequence, each normalised
/// by itself.
struct GatedNormRows {
  const Bf16* x = nullptr;          // (batch, groups, width)
  VectorRows gates;                 // (groups, width)
  const std::vector<Bf16>& weight;  // (width), or (groups, width): one for each
  std::int64_t groups = 0;
  std::int64_t width = 0;
  NormGate order = NormGate::silu_before;
  Bf16* out = nullptr;  // (batch, groups, width)
};

/// By all threads, which then meet, as operator `op`.
void run_gated_norm(StepContext& step, int thread, int op, const GatedNormRows& rows);

/// Throws UnsupportedError when the engine has no kernel for states of this shape.
void check_state_shape(std::int64_t key_dim, std::int64_t value_dim);

}  // namespace roofcast
