#include "model/reference/mla_expanded_block.hpp"

#include <algorithm>
#include <vector>

namespace roofcast {
namespace {

/// Rows of kv_up that one head has: of its key, then of its value.
std::int64_t head_rows(const MlaShape& s) { return s.qk_nope_head_dim + s.v_head_dim; }

}  // namespace

MlaExpandedBlock::MlaExpandedBlock(const MlaShape& shape, const LayerSetup& setup)
    : inputs_(shape, setup),
      layer_(setup.layer),
      op_expand_(setup.operators.claim(setup.layer_class, "mla_expand_kv")),
      op_attention_(setup.operators.claim(setup.layer_class, "attention")),
      op_out_(setup.operators.claim(setup.layer_class, "attn_out_proj")),
      up_(make_matrix(setup, Component::attention, shape.n_heads * head_rows(shape),
                      shape.kv_lora_rank)),
      out_(make_matrix(setup, Component::attention, setup.hidden_dim,
                       shape.n_heads * shape.v_head_dim)),
      kv_(setup.kv) {}

void MlaExpandedBlock::fill(int thread, const WeightSource& weights) {
  inputs_.fill(thread, weights);
  const auto fill_matrix = [&](PackedMatrix& matrix, Tensor tensor) {
    matrix.fill(thread, [&](std::int64_t row, Bf16* out) {
      weights({.tensor = tensor, .layer = layer_, .row = row, .width = matrix.k()}, out);
    });
  };
  fill_matrix(up_, Tensor::kv_up);
  fill_matrix(out_, Tensor::attn_out);
}

void MlaExpandedBlock::reserve(std::int64_t batch, int, Activations& a) const {
  inputs_.reserve(batch, a);
  make_room(a.mla.latents, batch * inputs_.latent_dim());
  make_room(a.mla.expanded, batch * up_.rows());
  make_room(a.attention, batch * out_.k());
}

void MlaExpandedBlock::make_cache(std::int64_t batch, std::int64_t capacity, Arenas& arenas) {
  const MlaShape& s = inputs_.shape();
  cache_ = KvCache(kv_,
                   {.sequences = batch,
                    .kv_heads = s.n_heads,
                    .head_dim = inputs_.query_dim(),
                    .value_dim = s.v_head_dim,
                    .capacity = capacity},
                   arenas);
  attention_ = SplitAttention(static_cast<int>(arenas.size()), 1, s.v_head_dim);
}

void MlaExpandedBlock::run(StepContext& step, int thread) {
  inputs_.project(step, thread);
  rotate(step, thread);
  step.recorder.finish(thread, inputs_.op_rope());
  expand_and_append(step, thread);
  step.recorder.finish(thread, op_expand_);
  attend(step, thread);
  step.recorder.finish(thread, op_attention_);
  run_gemm(step, thread, op_out_, out_, {}, step.activations.attention.data(),
           step.activations.y.data());
}

void MlaExpandedBlock::rotate(StepContext& step, int thread) const {
  Activations& a = step.activations;
  // The product that follows reads the latents of all sequences as one matrix; what is rotated
  // comes behind it.
  const auto query_rope = [&](std::int64_t sequence, std::int64_t head) {
    return inputs_.query(a, sequence) + head * inputs_.query_dim() +
           inputs_.shape().qk_nope_head_dim;
  };
  const auto value = [&](std::int64_t sequence) {
    return a.mla.latents.data() + sequence * inputs_.shape().kv_lora_rank;
  };
  const auto rope = [&](std::int64_t sequence) { return rotated_key(step, sequence); };
  inputs_.rotate(step, thread, {query_rope, value, rope});
}

void MlaExpandedBlock::expand_and_append(StepContext& step, int thread) {
  Activations& a = step.activations;
  const MlaShape& s = inputs_.shape();
  multiply_own_rows(step, thread, op_expand_, up_, {}, a.mla.latents.data(), a.mla.expanded.data());
  step.pool.barrier();
  const Range own = part_of(step.batch * s.n_heads, thread, step.pool.size());
  std::vector<Bf16> key(static_cast<std::size_t>(inputs_.query_dim()));
  for (std::int64_t item = own.begin; item < own.end; ++item) {
    const Bf16* const up = a.mla.expanded.data() + item * head_rows(s);
    std::copy_n(up, s.qk_nope_head_dim, key.begin());
    std::copy_n(rotated_key(step, item / s.n_heads), s.qk_rope_head_dim,
                key.begin() + s.qk_nope_head_dim);
    cache_.append(item, step.position, key.data(), up + s.qk_nope_head_dim);
  }
  step.recorder.bytes(thread, op_expand_).kv_write +=
      Bytes{static_cast<double>(own.size() * cache_.token_bytes())};
}

Bf16* MlaExpandedBlock::rotated_key(StepContext& step, std::int64_t sequence) const {
  const MlaShape& s = inputs_.shape();
  return step.activations.mla.latents.data() + step.batch * s.kv_lora_rank +
         sequence * s.qk_rope_head_dim;
}

void MlaExpandedBlock::attend(StepContext& step, int thread) {
  const MlaShape& s = inputs_.shape();
  const AttentionTask task{.sequences = step.batch,
                           .n_kv_heads = s.n_heads,
                           .group = 1,
                           .head_dim = inputs_.query_dim(),
                           .value_dim = s.v_head_dim,
                           .tokens = step.position + 1,
                           .q = inputs_.query(step.activations, 0),
                           .q_stride = inputs_.query_stride(),
                           .keys = [this](std::int64_t item) { return cache_.keys(item); },
                           .values = [this](std::int64_t item) { return cache_.values(item); },
                           .key_code = kv_.keys.code,
                           .value_code = kv_.values.code,
                           .key_scale = kv_.keys.scale,
                           .value_scale = kv_.values.scale,
                           .pages = [this](std::int64_t q) { return cache_.pages(q); },
                           .page_tokens = kv_.page_tokens,
                           .out = step.activations.attention.data()};
  const AttentionReads reads = attention_.run(task, step.kernels, step.pool, thread);
  Traffic& bytes = step.recorder.bytes(thread, op_attention_);
  // The newest token was written a moment ago.
  bytes.kv_read +=
      Bytes{static_cast<double>((reads.tokens - reads.items_started) * cache_.token_bytes())};
  bytes.activations += bf16_bytes((reads.items_started + reads.items_joined) * task.head_dim +
                                  reads.items_started * task.value_dim);
}

}  // namespace roofcast
