#pragma once

#include <cstddef>
#include <cstdint>

#include "model/reference/cpu/bf16.hpp"
#include "model/reference/cpu/isa.hpp"
#include "model/reference/cpu/kv_code.hpp"

namespace roofcast {

/// Rows of a weight tile: a tile holds 16 rows as k / 2 groups of 16 pairs, so that one stream of
/// memory feeds 16 sums and no sum has to be added up across lanes.
inline constexpr std::int64_t kRowTile = 16;
/// Most columns of one GEMM call; weights are read from memory once for all of them.
inline constexpr std::int64_t kMaxBatch = 64;
/// Cached keys are stored in tiles of 4 tokens x 16 bytes of each, which are 8 bf16 elements or 16
/// bytes. Values in bf16 are stored as pairs of tokens, and bytes in tiles of 4 tokens x 4 elements
/// that hold two such pairs of each element.
inline constexpr std::int64_t kKeyTokens = 4;
inline constexpr std::int64_t kKeyRunBytes = 16;
inline constexpr std::int64_t kValueTokens = 4;
inline constexpr std::int64_t kValueElements = 4;
/// Head widths must be a multiple of this, and caches hold a multiple of this many tokens.
inline constexpr std::int64_t kHeadDimStep = 16;
inline constexpr std::int64_t kMaxHeadDim = 1024;
inline constexpr std::int64_t kTokenStep = 16;
/// The part of a latent that is a value must be a multiple of this wide.
inline constexpr std::int64_t kLatentStep = 32;
/// Running maximum of a head that has seen no token.
inline constexpr float kNoScore = -1e30F;

/// Elements of an input that share a scale where a kernel multiplies integers.
inline constexpr std::int64_t kInputBlock = 32;
/// Codes of integer weights are stored with this added, so that they are unsigned.
inline constexpr int kInt8Bias = 128;
inline constexpr int kInt4Bias = 8;

/// What a GEMM kernel reads its weights as. bf16, fp32 and fp8 (E4M3) multiply inputs as they are,
/// integers multiply 8-bit codes of them.
enum class WeightKind { bf16, fp32, fp8, int8, int4 };
inline constexpr std::size_t kWeightKinds = 5;

constexpr bool is_integer(WeightKind kind) { return kind >= WeightKind::int8; }

/// Inputs of a GEMM as integers: x is nearly scale x code, codes are in [-127, 127]. Columns stand
/// side by side, so that those of one product come from few cache lines.
struct InputCodes {
  std::int8_t* codes = nullptr;          // (k / kInputBlock, batch, kInputBlock)
  float* scales = nullptr;               // (k / kInputBlock, batch)
  std::int32_t* negated_sums = nullptr;  // (k / kInputBlock, batch): of the codes, below zero
};

/// y (batch, rows) = x (batch, k) W^T + bias. `weights` are row tiles as `store_row` writes them,
/// all of 16 rows: multiply() does a last one of fewer. k is even and, by kind, a multiple of 4, of
/// kInputBlock or of `group`; batch at most kMaxBatch. Accumulates in fp32 (inside an input's block
/// of codes exactly), stores y as bf16. Strides are in elements.
struct GemmArgs {
  const void* weights = nullptr;
  std::int64_t group = 0;             // elements that share a scale in `weights`; 0: there is none
  const float* row_scales = nullptr;  // (rows) or none
  std::int64_t rows = 0;
  std::int64_t k = 0;
  const Bf16* x = nullptr;
  std::int64_t x_stride = 0;
  InputCodes codes = {};    // of x, for integer weights
  Bf16* scratch = nullptr;  // (batch, k), for others where the batch is above 1
  std::int64_t batch = 0;
  const Bf16* bias = nullptr;  // (rows) or none
  Bf16* y = nullptr;
  std::int64_t y_stride = 0;
};

/// Attention of the query heads that share one key-value head, over tokens [token0, token1) of one
/// sequence; token0 is a multiple of kTokenStep. Results are partial (flash decoding): the running
/// maximum and sum of each head, and its unnormalised output. Elements of the cache count as the
/// values of their codes: the scale of keys belongs into `scale`, that of values to the output.
struct AttentionArgs {
  const Bf16* q = nullptr;  // (group, head_dim)
  std::int64_t group = 0;
  std::int64_t head_dim = 0;   // of queries and keys
  std::int64_t value_dim = 0;  // of values; both multiples of kHeadDimStep
  KvCode key_code = KvCode::bf16;
  KvCode value_code = KvCode::bf16;
  const void* keys = nullptr;  // bf16 (tokens / 4, head_dim / 8, 4, 8), bytes (.., / 16, 4, 16)
  const void* values =
      nullptr;  // bf16 (tokens / 2, value_dim, 2), bytes (tokens / 4, .. / 4, 2, 4, 2)
  /// Where each run of `page_tokens` tokens, a multiple of kTokenStep, lies in keys and values, in
  /// pages; without it they lie in order.
  const std::int32_t* pages = nullptr;
  std::int64_t page_tokens = 0;
  std::int64_t token0 = 0;
  std::int64_t token1 = 0;
  float scale = 0.0F;
  float* max = nullptr;  // (group)
  float* sum = nullptr;  // (group)
  float* out = nullptr;  // (group, value_dim)
};

/// Attention of all query heads to latents that are key and value at once (absorbed multi-head
/// latent attention), each read from memory once for all heads. Results are partial and go on from
/// those of earlier calls: before the first, maxima are kNoScore, sums and outputs zero.
struct LatentAttentionArgs {
  const Bf16* q = nullptr;  // (heads / 16 rounded up, latent_dim / 2, 16, 2): see pack_heads
  std::int64_t heads = 0;
  std::int64_t latent_dim = 0;    // even; all of a latent is the key
  std::int64_t value_dim = 0;     // a multiple of kLatentStep; its start is the value
  const Bf16* latents = nullptr;  // (tokens, latent_dim)
  std::int64_t tokens = 0;
  float scale = 0.0F;
  float* max = nullptr;  // (heads rounded up to 16)
  float* sum = nullptr;  // (heads rounded up to 16)
  float* out = nullptr;  // (heads, value_dim)
};

/// scores (tokens) = sum over heads of weight x max(0, query . key): a lightning indexer.
struct IndexScoreArgs {
  const Bf16* q = nullptr;         // (heads / 16 rounded up, head_dim / 2, 16, 2): see pack_heads
  const float* weights = nullptr;  // (heads rounded up to 16), zero beyond the heads
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;   // even
  const Bf16* keys = nullptr;  // (tokens, head_dim)
  std::int64_t tokens = 0;
  float* scores = nullptr;  // (tokens)
};

/// residual += y (when there is a y); x = rms_norm(residual) * (weight_offset + weight). All (n),
/// bf16. x may be `residual`.
struct NormArgs {
  Bf16* residual = nullptr;
  const Bf16* y = nullptr;
  const Bf16* weight = nullptr;
  Bf16* x = nullptr;
  std::int64_t n = 0;
  float epsilon = 0.0F;
  float weight_offset = 0.0F;
};

/// One head: optional rms_norm with `weight_offset + norm_weight`, then rotary embedding of the
/// pairs (i, i + width / 2) of its first `width` elements, by the angles whose cosine and sine are
/// given (width / 2 each). The elements behind stay. width < 0: all of the head turns.
struct RotateArgs {
  const Bf16* in = nullptr;
  const Bf16* norm_weight = nullptr;
  const float* cosine = nullptr;
  const float* sine = nullptr;
  Bf16* out = nullptr;  // may be `in`
  std::int64_t head_dim = 0;
  float epsilon = 0.0F;
  float weight_offset = 0.0F;
  std::int64_t width = -1;
};

/// How the elements of a matrix state are stored; sums are in fp32 either way.
enum class StateFormat { fp32, bf16 };

/// What a step adds to a state S (key_dim x value_dim): key v^T with v = strength x value, or by
/// the delta rule v = strength x (value - S^T key), which corrects what the state gives for this
/// key.
enum class StateRule { linear, delta };

/// Columns of a state that lie together: a state is stored as (value_dim / 16, key_dim, 16).
inline constexpr std::int64_t kStateColumns = 16;
/// Key widths must be a multiple of this, value widths of kStateColumns.
inline constexpr std::int64_t kStateKeyStep = 4;
inline constexpr std::int64_t kMaxStateKeyDim = 1024;

/// One step of one head's state: S = diag(decay) S + key v^T, then out = S^T query. Each element of
/// the state goes through memory once in and once out.
struct RecurrenceArgs {
  void* state = nullptr;
  StateFormat format = StateFormat::fp32;
  StateRule rule = StateRule::linear;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  const float* key = nullptr;    // (key_dim)
  const float* query = nullptr;  // (key_dim)
  const float* decay = nullptr;  // (key_dim)
  const float* value = nullptr;  // (value_dim)
  float strength = 1.0F;
  float* out = nullptr;  // (value_dim)
};

/// One step of a causal convolution of n channels, each with `kernel` taps of its own, whose last
/// kernel - 1 inputs are kept: out = act(taps . (inputs, x) + bias), then the oldest input leaves
/// and x enters. With a gate, x is first multiplied by it and rounded.
struct ConvolutionArgs {
  const Bf16* taps = nullptr;  // (kernel, n): the one of the oldest input first
  const Bf16* bias = nullptr;  // (n) or none
  Bf16* inputs = nullptr;      // (kernel - 1, n): the oldest first
  const Bf16* x = nullptr;     // (n)
  const Bf16* gate = nullptr;  // (n) or none
  Bf16* out = nullptr;         // (n)
  std::int64_t kernel = 0;
  std::int64_t n = 0;
  bool silu = false;
};

/// out = exp(-rate softplus(x + bias)): decays of one head's key channels. All (n).
struct ChannelDecayArgs {
  const Bf16* x = nullptr;
  const float* bias = nullptr;
  float rate = 0.0F;
  float* out = nullptr;
  std::int64_t n = 0;
};

/// One step of a selective scan over n channels, each with a state of `state_dim` elements: with
/// dt = softplus(step), s = exp(-rate dt) s + dt x B, out = (s . C + skip x) silu(gate). States and
/// rates are stored as (n / 16, state_dim, 16), states in fp32. n is a multiple of 16.
struct ScanArgs {
  float* state = nullptr;
  const Bf16* rates = nullptr;
  const Bf16* steps = nullptr;  // (n)
  const Bf16* x = nullptr;      // (n)
  const Bf16* gate = nullptr;   // (n)
  const Bf16* skip = nullptr;   // (n)
  const float* b = nullptr;     // (state_dim)
  const float* c = nullptr;     // (state_dim)
  Bf16* out = nullptr;          // (n)
  std::int64_t n = 0;
  std::int64_t state_dim = 0;
};

/// How a gate takes part in a norm: rms_norm(x silu(gate)), rms_norm(x) silu(gate) or
/// rms_norm(x) sigmoid(gate).
enum class NormGate { silu_before, silu_after, sigmoid_after };

/// out = that norm x weight. All (n), bf16; out may be x.
struct GatedNormArgs {
  const Bf16* x = nullptr;
  const Bf16* gate = nullptr;
  const Bf16* weight = nullptr;
  Bf16* out = nullptr;
  std::int64_t n = 0;
  float epsilon = 0.0F;
  NormGate order = NormGate::silu_before;
};

/// Activations of feed-forward blocks: x sigmoid(x); GELU in its tanh form; max(x, 0)^2; and the
/// clamped SwiGLU of gpt-oss, which needs a gate.
enum class Activation { silu, gelu, relu_squared, clamped_swiglu };

/// (1 + up) * gate * sigmoid(alpha * gate), of gates of at most and ups within +- `limit`.
struct ClampedSwiglu {
  float alpha = 1.702F;
  float limit = 7.0F;
};

/// out = up * f(gate), or f(up) where there is no gate. All (n), bf16.
struct ActivateArgs {
  const Bf16* up = nullptr;
  const Bf16* gate = nullptr;
  Bf16* out = nullptr;
  std::int64_t n = 0;
  Activation kind = Activation::silu;
  ClampedSwiglu swiglu = {};
};

/// out = sum over `count` rows of weight x row, in fp32, rounded once. All (n), bf16; out may be
/// one of the rows.
struct WeightedSumArgs {
  const Bf16* const* rows = nullptr;
  const float* weights = nullptr;
  std::int64_t count = 0;
  Bf16* out = nullptr;
  std::int64_t n = 0;
};

/// Kernels of one instruction set. Single-threaded: a caller hands each thread its share.
struct Kernels {
  IsaLevel isa = IsaLevel::portable;
  void (*gemm[kWeightKinds])(const GemmArgs&) = {};  // by WeightKind
  /// Codes of `args`' inputs into its `codes`: the nearest to x / scale, where scale is the block's
  /// largest magnitude over 127.
  void (*encode)(const GemmArgs& args) = nullptr;
  void (*attend)(const AttentionArgs&) = nullptr;
  void (*attend_latents)(const LatentAttentionArgs&) = nullptr;
  void (*score_index)(const IndexScoreArgs&) = nullptr;
  void (*add_norm)(const NormArgs&) = nullptr;
  void (*rotate_head)(const RotateArgs&) = nullptr;
  void (*activate)(const ActivateArgs&) = nullptr;
  void (*weighted_sum)(const WeightedSumArgs&) = nullptr;
  void (*recur)(const RecurrenceArgs&) = nullptr;
  void (*convolve)(const ConvolutionArgs&) = nullptr;
  void (*gated_norm)(const GatedNormArgs&) = nullptr;
  void (*channel_decays)(const ChannelDecayArgs&) = nullptr;
  void (*scan)(const ScanArgs&) = nullptr;
  /// out = silu(x) in fp32, n values.
  void (*silu)(const Bf16* x, float* out, std::int64_t n) = nullptr;
  /// out = a * b, n values; out may be a or b.
  void (*multiply)(const Bf16* a, const Bf16* b, Bf16* out, std::int64_t n) = nullptr;
  /// Sum of the products of n values, in fp32.
  float (*dot)(const Bf16* a, const Bf16* b, std::int64_t n) = nullptr;
  /// Index of the first largest of n values, n >= 1.
  std::int64_t (*argmax)(const Bf16* values, std::int64_t n) = nullptr;
  /// Reads `bytes` (a multiple of 1024) and returns their sum as 32-bit words, so that no load can
  /// be left out.
  std::uint32_t (*read)(const std::byte* data, std::size_t bytes) = nullptr;
  /// Multiplies and adds in registers only: `rounds` times dot_flops_per_round FLOPs.
  float (*dot_burst)(std::int64_t rounds) = nullptr;
  double dot_flops_per_round = 0.0;
};

/// Kernels for `level`. Throws std::invalid_argument when it is not supported here.
const Kernels& kernels_for(IsaLevel level);

}  // namespace roofcast
