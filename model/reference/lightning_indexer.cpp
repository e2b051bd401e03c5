#include "model/reference/lightning_indexer.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "model/base/error.hpp"
#include "model/reference/cpu/pack_heads.hpp"
#include "model/reference/cpu/split_attention.hpp"

namespace roofcast {
namespace {

void check_supported(const SparseLatentAttention& k, const Formats& formats) {
  refuse_if(k.index_n_heads < 1 || k.index_topk < 1,
            "an indexer without heads or without a choice");
  refuse_if(k.index_head_dim % kHeadDimStep != 0 || k.index_head_dim < k.shape.qk_rope_head_dim,
            "index keys whose width is not a multiple of 16, or less than what is rotated");
  refuse_if(formats[Component::indexer] != storage_of(*find_format("bf16")),
            "index keys (the indexer) in other formats than bf16");
}

/// Layer norm of n values in place, in fp32, rounded once.
void layer_norm(const std::vector<Bf16>& weight, const std::vector<Bf16>& bias, float epsilon,
                std::int64_t n, const Bf16* x, Bf16* out) {
  float mean = 0.0F;
  for (std::int64_t i = 0; i < n; ++i) mean += bf16_to_float(x[i]) / static_cast<float>(n);
  float variance = 0.0F;
  for (std::int64_t i = 0; i < n; ++i) {
    const float centred = bf16_to_float(x[i]) - mean;
    variance += centred * centred / static_cast<float>(n);
  }
  const float factor = 1.0F / std::sqrt(variance + epsilon);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    out[i] = float_to_bf16((bf16_to_float(x[i]) - mean) * factor * bf16_to_float(weight[at]) +
                           bf16_to_float(bias[at]));
  }
}

}  // namespace

LightningIndexer::LightningIndexer(const SparseLatentAttention& kind, const LayerSetup& setup)
    : heads_(kind.index_n_heads),
      dim_(kind.index_head_dim),
      rotary_{kind.shape.qk_rope_head_dim, setup.semantics.rotary.theta},
      top_(kind.index_topk),
      from_latent_(kind.shape.q_lora_rank > 0),
      layer_(setup.layer),
      op_q_(setup.operators.claim(setup.layer_class, "index_q_proj")),
      op_k_(setup.operators.claim(setup.layer_class, "index_k_proj")),
      op_score_(setup.operators.claim(setup.layer_class, "index_score")),
      op_topk_(setup.operators.claim(setup.layer_class, "index_topk")) {
  check_supported(kind, setup.formats);
  const std::int64_t width = from_latent_ ? kind.shape.q_lora_rank : setup.hidden_dim;
  q_ = make_matrix(setup, Component::attention, heads_ * dim_, width);
  k_ = make_matrix(setup, Component::attention, dim_ + heads_, setup.hidden_dim);
  k_norm_ = load_vector(setup.weights, Tensor::index_k_norm, layer_, dim_);
  k_norm_bias_ = load_vector(setup.weights, Tensor::index_k_norm_bias, layer_, dim_);
  const auto tiled = static_cast<std::size_t>(tiled_heads(heads_));
  Own own;
  own.q.resize(static_cast<std::size_t>(heads_ * dim_));
  own.packed_q.resize(tiled * static_cast<std::size_t>(dim_));
  own.key.resize(static_cast<std::size_t>(dim_));
  own.weights.resize(tiled);
  own_.assign(setup.arenas.size(), own);
}

void LightningIndexer::fill(int thread, const WeightSource& weights) {
  q_.fill(thread, [&](std::int64_t row, Bf16* out) {
    weights({.tensor = Tensor::index_q, .layer = layer_, .row = row, .width = q_.k()}, out);
  });
  k_.fill(thread, [&](std::int64_t row, Bf16* out) {
    TensorRow at{.tensor = Tensor::index_k, .layer = layer_, .row = row, .width = k_.k()};
    if (row >= dim_) {
      at.tensor = Tensor::index_weights;
      at.row = row - dim_;
    }
    weights(at, out);
  });
}

void LightningIndexer::make_cache(std::int64_t batch, std::int64_t capacity, Arenas& arenas) {
  keys_ = LatentCache(batch, dim_, capacity, arenas);
  capacity_ = capacity;
}

void LightningIndexer::reserve(std::int64_t batch, Activations& a) {
  make_room(a.mla.index_q, batch * q_.rows());
  make_room(a.mla.index_k, batch * k_.rows());
  make_room(a.mla.index_scores, batch * capacity_);
  chosen_.assign(static_cast<std::size_t>(batch * std::min(top_, capacity_)), 0);
}

void LightningIndexer::run(StepContext& step, int thread) {
  Activations& a = step.activations;
  run_gemm(step, thread, op_q_, q_, {}, from_latent_ ? a.mla.q_latent.data() : a.x.data(),
           a.mla.index_q.data());
  // The operator list counts the norm with the projection.
  if (thread == 0) step.recorder.bytes(thread, op_k_).weights += bf16_bytes(2 * dim_);
  run_gemm(step, thread, op_k_, k_, {}, a.x.data(), a.mla.index_k.data());
  score(step, thread);
  step.recorder.finish(thread, op_score_);
  choose(step, thread);
  step.recorder.finish(thread, op_topk_);
}

void LightningIndexer::score(StepContext& step, int thread) {
  Own& own = own_[static_cast<std::size_t>(thread)];
  const std::int64_t tokens = step.position + 1;
  Traffic& bytes = step.recorder.bytes(thread, op_score_);
  for (const AttentionPiece& piece :
       attention_pieces(step.batch, tokens, thread, step.pool.size())) {
    prepare_query(step, piece.item, own);
    if (piece.last) append_key(step, piece.item, own);
    const std::int64_t scored = piece.token1 - piece.token0;
    step.kernels.score_index(
        {.q = own.packed_q.data(),
         .weights = own.weights.data(),
         .heads = heads_,
         .head_dim = dim_,
         .keys = keys_.rows(piece.item) + piece.token0 * dim_,
         .tokens = scored,
         .scores = step.activations.mla.index_scores.data() + piece.item * tokens + piece.token0});
    // The newest key was written a moment ago.
    bytes.kv_read += bf16_bytes((scored - (piece.last ? 1 : 0)) * dim_);
    bytes.kv_write += bf16_bytes(piece.last ? dim_ : 0);
    bytes.activations += bf16_bytes(q_.rows()) + Bytes{static_cast<double>(scored) * sizeof(float)};
  }
}

void LightningIndexer::prepare_query(StepContext& step, std::int64_t sequence, Own& own) const {
  const LatentActivations& a = step.activations.mla;
  std::copy_n(a.index_q.data() + sequence * q_.rows(), q_.rows(), own.q.begin());
  for (std::int64_t h = 0; h < heads_; ++h) rotate(step, own.q.data() + h * dim_);
  pack_heads(own.q.data(), heads_, dim_, own.packed_q.data());
  const Bf16* const weights = a.index_k.data() + sequence * k_.rows() + dim_;
  const float scale = 1.0F / std::sqrt(static_cast<float>(heads_ * dim_));
  for (std::int64_t h = 0; h < heads_; ++h)
    own.weights[static_cast<std::size_t>(h)] = bf16_to_float(weights[h]) * scale;
}

void LightningIndexer::append_key(StepContext& step, std::int64_t sequence, Own& own) {
  layer_norm(k_norm_, k_norm_bias_, step.norm_epsilon, dim_,
             step.activations.mla.index_k.data() + sequence * k_.rows(), own.key.data());
  rotate(step, own.key.data());
  std::copy(own.key.begin(), own.key.end(), keys_.row(sequence, step.position));
}

void LightningIndexer::rotate(const StepContext& step, Bf16* vector) const {
  if (rotary_.width == 0) return;
  const RotaryTable& table = rotary_table(step, rotary_);
  step.kernels.rotate_head({.in = vector,
                            .cosine = table.cosine.data(),
                            .sine = table.sine.data(),
                            .out = vector,
                            .head_dim = rotary_.width,
                            .epsilon = step.norm_epsilon});
}

void LightningIndexer::choose(StepContext& step, int thread) {
  LatentActivations& a = step.activations.mla;
  const std::int64_t tokens = step.position + 1;
  const std::int64_t top = std::min(top_, tokens);
  const Range own = part_of(step.batch, thread, step.pool.size());
  for (std::int64_t s = own.begin; s < own.end; ++s)
    choose_top_tokens(a.index_scores.data() + s * tokens, tokens, top,
                      own_[static_cast<std::size_t>(thread)].scratch, chosen_.data() + s * top);
  if (thread == 0) a.chosen = chosen_.data();
  step.recorder.bytes(thread, op_topk_).activations +=
      Bytes{static_cast<double>(own.size() * tokens) * sizeof(float)};
}

}  // namespace roofcast
