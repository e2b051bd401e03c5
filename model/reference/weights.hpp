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
  // Of linear-attention and state-space layers, beside q, k, v and attn_out:
  mixer_in,        // Mamba: gate, convolved inputs (x, B, C), time steps; LFM2: gates B, C, input x
  mixer_in_bias,   // (LFM2)
  mixer_gate,      // gate of the output, per value
  decay_in,        // what decides how fast a state decays, per head or per key channel
  decay_up,        // from decay_in's outputs to all channels, where the way is of low rank
  mixer_gate_up,   // the same of a gate
  strength_in,     // how strongly a state is written, per head
  conv,            // (channels, taps), the tap of the newest input last
  conv_bias,       // one row
  decay_log,       // logarithm of a decay rate, per head
  time_step_bias,  // per head or channel
  skip,            // how much of its input a head or channel adds to its output
  scan_in,         // (Mamba-1) what the convolved channels say of time steps, B and C
  time_step,       // (Mamba-1) from the narrow time steps to all channels
  mixer_norm,      // weights of the norm that the gate belongs to
  attn_gate,       // of the attention's output, one row per element of it
  attn_gate_bias,
  expert_up_bias,  // one row per expert, as the two below
  expert_gate_bias,
  expert_down_bias,
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

/// Fills `out` with bytes whose bits of `random` are random and whose others are those of `fixed`.
void fill_random_bytes(std::uint64_t seed, std::uint8_t random, std::uint8_t fixed,
                       std::uint8_t* out, std::int64_t n);

}  // namespace roofcast
