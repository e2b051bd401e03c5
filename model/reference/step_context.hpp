#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/reference/cpu/kernels.hpp"
#include "model/reference/cpu/packed_matrix.hpp"
#include "model/reference/cpu/split_experts.hpp"
#include "model/reference/cpu/thread_pool.hpp"
#include "model/reference/step_recorder.hpp"
#include "model/reference/weights.hpp"

namespace roofcast {

/// What angles depend on apart from the position: the width that turns, and its base.
struct RotaryKey {
  std::int64_t width = 0;  // 0: nothing turns
  double theta = 10000.0;
  bool operator==(const RotaryKey&) const = default;
};

/// Cosines and sines of one position, (width / 2) each.
struct RotaryTable {
  RotaryKey key;
  std::vector<float> cosine;
  std::vector<float> sine;
};

/// Values inside blocks of latent attention, one row per sequence.
struct LatentActivations {
  std::vector<Bf16> down;           // output of mla_down_proj: q_lora_rank or queries, then latent
  std::vector<Bf16> q_latent;       // (batch, q_lora_rank), normalised
  std::vector<Bf16> q;              // (batch, n_heads, nope + rope)
  std::vector<Bf16> absorbed_q;     // (batch, n_heads, kv_lora_rank + rope)
  std::vector<Bf16> latents;        // (batch, kv_lora_rank), then (batch, rope): of expanded forms
  std::vector<Bf16> expanded;       // (batch, n_heads, nope + v_head_dim)
  std::vector<Bf16> mixed;          // (batch, n_heads, kv_lora_rank)
  std::vector<Bf16> index_q;        // (batch, index_n_heads, index_head_dim)
  std::vector<Bf16> index_k;        // (batch, index_head_dim + index_n_heads): key, then weights
  std::vector<float> index_scores;  // (batch, tokens)
  const std::int32_t* chosen = nullptr;  // see LightningIndexer::chosen, of the last layer with one
};

/// Values between operators, bf16, one row per sequence. Sized for the widest layer.
struct Activations {
  std::vector<Bf16> residual;   // (batch, hidden_dim)
  std::vector<Bf16> x;          // (batch, hidden_dim): the normalised input of a block
  std::vector<Bf16> y;          // (batch, hidden_dim): the output of a block
  std::vector<Bf16> qkv;        // (batch, n_heads + 2 n_kv_heads, head_dim)
  std::vector<Bf16> attention;  // (batch, n_heads, head_dim)
  std::vector<Bf16> convolved;  // (batch, channels): after a short convolution
  std::vector<Bf16> controls;   // (batch, n): decays, strengths or gates of a state layer
  std::vector<Bf16> narrow;     // (batch, n): values between two matrices of low rank
  std::vector<Bf16> recalled;   // (batch, heads, value_dim): what states gave
  std::vector<Bf16> up_gate;    // (batch, 2 ffn_dim): up, then gate
  std::vector<Bf16> hidden;     // (batch, ffn_dim)
  std::vector<Bf16> logits;     // (batch, vocab_size)
  std::vector<Bf16> part;    // (batch, hidden_dim): the output of one of several parts of a block
  std::vector<Bf16> scores;  // (batch, n_experts)
  std::vector<float> gates;  // (batch): how much the shared experts of a token count
  ExpertBuffers experts;
  LatentActivations mla;
};

/// Makes `values` hold `elements` at least.
template <typename T>
void make_room(std::vector<T>& values, std::int64_t elements) {
  values.resize(std::max(values.size(), static_cast<std::size_t>(elements)));
}

/// Bytes of so many bf16 values.
inline Bytes bf16_bytes(std::int64_t elements) {
  return {static_cast<double>(elements) * sizeof(Bf16)};
}

/// What every block of a step works with.
struct StepContext {
  const Kernels& kernels;
  ThreadPool& pool;
  StepRecorder& recorder;
  Activations& activations;
  std::vector<RotaryTable>& rotary;
  std::int64_t batch = 0;
  std::int64_t position = 0;  // of the token that this step appends
  float norm_epsilon = 1e-6F;
  float norm_offset = 0.0F;  // ModelSemantics::norm_offset
};

/// The table of this step for `key`, which a block's rotary() asked for.
const RotaryTable& rotary_table(const StepContext& step, const RotaryKey& key);

/// y (batch, rows) = x W^T + bias, the rows of this thread, as operator `op`: multiplies and
/// counts. `bias` may be empty.
void multiply_own_rows(StepContext& step, int thread, int op, const PackedMatrix& weights,
                       const std::vector<Bf16>& bias, const Bf16* x, Bf16* y);

/// The same by all threads, which then meet.
void run_gemm(StepContext& step, int thread, int op, const PackedMatrix& weights,
              const std::vector<Bf16>& bias, const Bf16* x, Bf16* y);

/// x = norm(residual += y) of every sequence, as operator `op`. The first norm of a step has no y.
void run_norm(StepContext& step, int thread, int op, const std::vector<Bf16>& weight,
              const Bf16* y);

/// y = norm(y) of every sequence, as operator `op`: the norm after a block.
void run_post_norm(StepContext& step, int thread, int op, const std::vector<Bf16>& weight);

/// A vector tensor (`width` values) of the model, or row `row` of a stack of them.
std::vector<Bf16> load_vector(const WeightSource& source, Tensor tensor, int layer,
                              std::int64_t width, std::int64_t row = 0);

}  // namespace roofcast
