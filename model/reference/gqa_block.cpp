#include "model/reference/gqa_block.hpp"

#include <cmath>
#include <string>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

void check_supported(const GqaShape& s) {
  refuse_if(s.qk_norm == QkNorm::full, "qk_norm over all heads at once");
  refuse_if(s.output_gate == OutputGate::headwise, "an output gate of attention per head");
  refuse_if(s.kv_owner != KvOwner::self, "layers that read an earlier layer's cache");
  refuse_if(s.shared_kv_weights, "shared K and V weights");
  refuse_if(s.v_head_dim != 0 && s.v_head_dim != s.head_dim, "values wider than keys");
  refuse_if(s.n_heads % s.n_kv_heads != 0, "query heads that do not divide among key-value heads");
  refuse_if(s.head_dim % kHeadDimStep != 0, "heads whose width is not a multiple of 16");
  refuse_if(s.head_dim > kMaxHeadDim, "heads wider than 1024");
}

RotaryKey rotary_of(const GqaShape& s, const KvSpan& span, const ModelSemantics& semantics) {
  const bool local = span.kind != KvSpan::Kind::whole;
  const RotarySemantics& rotary =
      local && semantics.local_rotary ? *semantics.local_rotary : semantics.rotary;
  const RotaryKey key = {std::llround(rotary.share * static_cast<double>(s.head_dim)),
                         rotary.theta};
  refuse_if(key.width % 2 != 0, "a rotary embedding of an odd width");
  return key;
}

}  // namespace

GqaBlock::GqaBlock(const GqaShape& shape, const KvSpan& span, const LayerSetup& setup)
    : shape_(shape),
      span_(span),
      kv_(setup.kv),
      rotary_(rotary_of(shape, span, setup.semantics)),
      query_scale_(setup.semantics.query_scale),
      layer_(setup.layer),
      op_qkv_(setup.operators.claim(setup.layer_class, "qkv_proj")),
      op_rope_(setup.operators.claim(setup.layer_class, "rope_kv_append")),
      op_attention_(setup.operators.claim(setup.layer_class, "attention")),
      op_out_(setup.operators.claim(setup.layer_class, "attn_out_proj")) {
  check_supported(shape);
  const std::int64_t heads = shape.n_heads * (gated() ? 2 : 1) + 2 * shape.n_kv_heads;
  qkv_ = make_matrix(setup, Component::attention, heads * shape.head_dim, setup.hidden_dim);
  out_ = make_matrix(setup, Component::attention, setup.hidden_dim, shape.n_heads * shape.head_dim);
  load_vectors(setup);
}

void GqaBlock::load_vectors(const LayerSetup& setup) {
  const WeightSource& source = setup.weights;
  if (shape_.qkv_bias) {
    const auto append = [&](Tensor tensor, std::int64_t heads) {
      const auto part = load_vector(source, tensor, layer_, heads * shape_.head_dim);
      qkv_bias_.insert(qkv_bias_.end(), part.begin(), part.end());
    };
    append(Tensor::q_bias, shape_.n_heads);
    append(Tensor::k_bias, shape_.n_kv_heads);
    append(Tensor::v_bias, shape_.n_kv_heads);
    if (gated()) append(Tensor::attn_gate_bias, shape_.n_heads);
  }
  if (shape_.o_bias)
    out_bias_ = load_vector(source, Tensor::attn_out_bias, layer_, setup.hidden_dim);
  if (shape_.qk_norm == QkNorm::head) {
    q_norm_ = load_vector(source, Tensor::q_norm, layer_, shape_.head_dim);
    k_norm_ = load_vector(source, Tensor::k_norm, layer_, shape_.head_dim);
  }
  if (shape_.sinks) sinks_ = load_vector(source, Tensor::sinks, layer_, shape_.n_heads);
}

void GqaBlock::fill(int thread, const WeightSource& weights) {
  const std::int64_t q_rows = shape_.n_heads * shape_.head_dim;
  const std::int64_t k_rows = shape_.n_kv_heads * shape_.head_dim;
  qkv_.fill(thread, [&](std::int64_t row, Bf16* out) {
    TensorRow at{.tensor = Tensor::q, .layer = layer_, .row = row, .width = qkv_.k()};
    if (row >= q_rows + 2 * k_rows) {
      at.tensor = Tensor::attn_gate;
      at.row = row - q_rows - 2 * k_rows;
    } else if (row >= q_rows + k_rows) {
      at.tensor = Tensor::v;
      at.row = row - q_rows - k_rows;
    } else if (row >= q_rows) {
      at.tensor = Tensor::k;
      at.row = row - q_rows;
    }
    weights(at, out);
  });
  out_.fill(thread, [&](std::int64_t row, Bf16* out) {
    weights({.tensor = Tensor::attn_out, .layer = layer_, .row = row, .width = out_.k()}, out);
  });
}

void GqaBlock::reserve(std::int64_t batch, int, Activations& a) const {
  make_room(a.qkv, batch * qkv_.rows());
  make_room(a.attention, batch * out_.k());
}

void GqaBlock::make_cache(std::int64_t batch, std::int64_t capacity, Arenas& arenas) {
  cache_ = KvCache(
      kv_, {batch, shape_.n_kv_heads, shape_.head_dim, shape_.head_dim, span_.slots(capacity)},
      arenas);
  attention_ = SplitAttention(static_cast<int>(arenas.size()), group(), shape_.head_dim);
}

void GqaBlock::run(StepContext& step, int thread) {
  Activations& a = step.activations;
  // The operator list counts the head norms with the projection.
  if (thread == 0)
    step.recorder.bytes(thread, op_qkv_).weights +=
        bf16_bytes(static_cast<std::int64_t>(q_norm_.size() + k_norm_.size()));
  run_gemm(step, thread, op_qkv_, qkv_, qkv_bias_, a.x.data(), a.qkv.data());
  rotate_and_append(step, thread);
  step.recorder.finish(thread, op_rope_);
  attend(step, thread);
  step.recorder.finish(thread, op_attention_);
  run_gemm(step, thread, op_out_, out_, out_bias_, a.attention.data(), a.y.data());
}

void GqaBlock::rotate_and_append(StepContext& step, int thread) {
  const std::int64_t dim = shape_.head_dim;
  const std::int64_t kv_heads = shape_.n_kv_heads;
  const std::int64_t slot = span_.slot(step.position);
  const RotaryTable* const table = rotary_.width > 0 ? &rotary_table(step, rotary_) : nullptr;
  const Range own = part_of(step.batch * kv_heads, thread, step.pool.size());
  std::vector<Bf16> key(static_cast<std::size_t>(dim));
  for (std::int64_t item = own.begin; item < own.end; ++item) {
    const std::int64_t kv_head = item % kv_heads;
    Bf16* const row = step.activations.qkv.data() + item / kv_heads * qkv_.rows();
    RotateArgs args{.norm_weight = q_norm_.empty() ? nullptr : q_norm_.data(),
                    .cosine = table == nullptr ? nullptr : table->cosine.data(),
                    .sine = table == nullptr ? nullptr : table->sine.data(),
                    .head_dim = dim,
                    .epsilon = step.norm_epsilon,
                    .weight_offset = step.norm_offset,
                    .width = rotary_.width};
    for (std::int64_t h = kv_head * group(); h < (kv_head + 1) * group(); ++h) {
      args.in = args.out = row + h * dim;
      step.kernels.rotate_head(args);
    }
    args.norm_weight = k_norm_.empty() ? nullptr : k_norm_.data();
    args.in = row + (shape_.n_heads + kv_head) * dim;
    args.out = key.data();
    step.kernels.rotate_head(args);
    const Bf16* const value = row + (shape_.n_heads + kv_heads + kv_head) * dim;
    cache_.append(item, slot, key.data(), value);
  }
  Traffic& bytes = step.recorder.bytes(thread, op_rope_);
  bytes.activations += bf16_bytes(own.size() * dim * (2 * group() + 2));
  bytes.kv_write += Bytes{static_cast<double>(own.size() * cache_.token_bytes())};
}

void GqaBlock::attend(StepContext& step, int thread) {
  const std::int64_t dim = shape_.head_dim;
  const Bf16* const gates =
      step.activations.qkv.data() + (shape_.n_heads + 2 * shape_.n_kv_heads) * dim;
  const AttentionTask task{.sequences = step.batch,
                           .n_kv_heads = shape_.n_kv_heads,
                           .group = group(),
                           .head_dim = dim,
                           .value_dim = dim,
                           .tokens = span_.filled(step.position),
                           .q = step.activations.qkv.data(),
                           .q_stride = qkv_.rows(),
                           .keys = [this](std::int64_t item) { return cache_.keys(item); },
                           .values = [this](std::int64_t item) { return cache_.values(item); },
                           .key_code = kv_.keys.code,
                           .value_code = kv_.values.code,
                           .key_scale = kv_.keys.scale,
                           .value_scale = kv_.values.scale,
                           .pages = [this](std::int64_t s) { return cache_.pages(s); },
                           .page_tokens = kv_.page_tokens,
                           .scale = query_scale_,
                           .sinks = sinks_.empty() ? nullptr : sinks_.data(),
                           .gate = gated() ? gates : nullptr,
                           .out = step.activations.attention.data()};
  const AttentionReads reads = attention_.run(task, step.kernels, step.pool, thread);
  Traffic& bytes = step.recorder.bytes(thread, op_attention_);
  // Of each item, whoever starts it leaves out the token that does not count.
  const std::int64_t uncounted = task.tokens - span_.tokens_read(step.position);
  const std::int64_t tokens = reads.tokens - uncounted * reads.items_started;
  bytes.kv_read += Bytes{static_cast<double>(tokens * cache_.token_bytes())};
  if (thread == 0) bytes.weights += bf16_bytes(static_cast<std::int64_t>(sinks_.size()));
  const std::int64_t rows = (gated() ? 3 : 2) * reads.items_started + reads.items_joined;
  bytes.activations += bf16_bytes(group() * dim * rows);
}

}  // namespace roofcast
