#pragma once

#include <cstdint>
#include <functional>

#include "model/reference/cpu/bf16.hpp"

namespace roofcast {

/// Tensors of a model, by what they do. Matrices are (outputs, inputs); vectors are one row. The
/// matrices of a layer's experts are stacked: row `expert x outputs + output`.
enum class Tensor {
  embedding,
  lm_head,
  final_norm,
  attn_norm,
  q,
  k,
  v,
  q_bias,
  k_bias,
  v_bias,
  q_norm,
  k_norm,
  attn_out,
  attn_out_bias,
  ffn_norm,
  up,
  gate,
  down,
  up_bias,
  gate_bias,
  down_bias,
  attn_post_norm,
  ffn_post_norm,
  sinks,
  router,
  router_bias,
  expert_up,
  expert_gate,
  expert_down,
  shared_up,
  shared_gate,
  shared_down,
  shared_output_gate,  // one row, whose product with a token gates its shared experts
  q_down,  // of latent attention: hidden to the query's latent, whose width `q` then takes
  q_latent_norm,
  kv_down,  // hidden to the latent: kv_lora_rank, then the part that is rotated
  kv_latent_norm,
  kv_up,    // latent to keys and values: of each head the rows of its key, then of its value
  index_q,  // of a lightning indexer
  index_k,
  index_k_norm,
  index_k_norm_bias,
  index_weights,  // (index_n_heads, hidden)
};

/// One row of one tensor. `layer` is -1 outside the layers.
struct TensorRow {
  Tensor tensor = Tensor::embedding;
  int layer = -1;
  std::int64_t row = 0;
  std::int64_t width = 0;
};

/// Writes the `width` values of a row to `out`. Called from several threads at once.
using WeightSource = std::function<void(const TensorRow& row, Bf16* out)>;

/// Random weights that depend on the seed and the place only. Matrices hold +-[1, 2) times the
/// power of two that keeps outputs as large as inputs, norms [1, 2): never zeros, which some
/// hardware moves and multiplies with less power than real data.
WeightSource synthetic_weights(std::uint64_t seed);

/// Fills `out` with +-[0.5, 1), for caches.
void fill_random(std::uint64_t seed, Bf16* out, std::int64_t n);

}  // namespace roofcast
