#include "model/reference/mla_block.hpp"

#include <algorithm>
#include <cmath>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

const LayerSetup& checked(const LayerSetup& setup) {
  if (setup.formats[Component::k] != storage_of(*find_format("bf16")))
    throw UnsupportedError(
        "the reference engine has no kernel for latents (\"mla\") in other formats than bf16");
  return setup;
}

}  // namespace

MlaBlock::MlaBlock(const MlaShape& shape, const LayerSetup& setup)
    : inputs_(shape, checked(setup)),
      layer_(setup.layer),
      op_absorb_q_(setup.operators.claim(setup.layer_class, "mla_absorb_q")),
      op_attention_(setup.operators.claim(setup.layer_class, "mla_attention")),
      op_absorb_v_(setup.operators.claim(setup.layer_class, "mla_absorb_v")),
      op_out_(setup.operators.claim(setup.layer_class, "attn_out_proj")),
      query_up_(shape.n_heads, shape.kv_lora_rank, shape.qk_nope_head_dim,
                weight_format_of(setup.formats, Component::attention), setup.arenas),
      value_up_(shape.n_heads, shape.v_head_dim, shape.kv_lora_rank, query_up_.format(),
                setup.arenas),
      out_(make_matrix(setup, Component::attention, setup.hidden_dim,
                       shape.n_heads * shape.v_head_dim)) {}

MlaBlock::MlaBlock(const SparseLatentAttention& kind, const LayerSetup& setup)
    : MlaBlock(kind.shape, setup) {
  top_ = kind.index_topk;
  if (kind.index_owner == KvOwner::self) indexer_.emplace(kind, setup);
}

void MlaBlock::fill(int thread, const WeightSource& weights) {
  const MlaShape& s = inputs_.shape();
  const std::int64_t head_rows = s.qk_nope_head_dim + s.v_head_dim;
  const auto load = [&](std::int64_t row, Bf16* out) {
    weights({.tensor = Tensor::kv_up, .layer = layer_, .row = row, .width = s.kv_lora_rank}, out);
  };
  inputs_.fill(thread, weights);
  // A head's rows of kv_up are those of its key, then of its value. Queries absorb the key's rows,
  // turned over: q . (W c) = (W^T q) . c.
  std::vector<Bf16> row(static_cast<std::size_t>(s.kv_lora_rank));
  query_up_.fill(thread, [&](std::int64_t head, Bf16* out) {
    for (std::int64_t i = 0; i < s.qk_nope_head_dim; ++i) {
      load(head * head_rows + i, row.data());
      for (std::int64_t j = 0; j < s.kv_lora_rank; ++j)
        out[j * s.qk_nope_head_dim + i] = row[static_cast<std::size_t>(j)];
    }
  });
  value_up_.fill(thread, [&](std::int64_t head, Bf16* out) {
    for (std::int64_t i = 0; i < s.v_head_dim; ++i)
      load(head * head_rows + s.qk_nope_head_dim + i, out + i * s.kv_lora_rank);
  });
  out_.fill(thread, [&](std::int64_t i, Bf16* out) {
    weights({.tensor = Tensor::attn_out, .layer = layer_, .row = i, .width = out_.k()}, out);
  });
  if (indexer_) indexer_->fill(thread, weights);
}

void MlaBlock::reserve(std::int64_t batch, int, Activations& a) {
  const MlaShape& s = inputs_.shape();
  inputs_.reserve(batch, a);
  make_room(a.mla.absorbed_q, batch * s.n_heads * inputs_.latent_dim());
  make_room(a.mla.mixed, batch * s.n_heads * s.kv_lora_rank);
  make_room(a.attention, batch * out_.k());
  if (indexer_) indexer_->reserve(batch, a);
}

void MlaBlock::make_cache(std::int64_t batch, std::int64_t capacity, Arenas& arenas) {
  const MlaShape& s = inputs_.shape();
  cache_ = LatentCache(batch, inputs_.latent_dim(), capacity, arenas);
  attention_ = SplitLatents(static_cast<int>(arenas.size()), s.n_heads, inputs_.latent_dim(),
                            s.kv_lora_rank);
  if (indexer_) indexer_->make_cache(batch, capacity, arenas);
}

void MlaBlock::fill_cache(int thread, int threads, std::uint64_t seed) {
  cache_.fill(thread, threads, 2 * seed);
  if (indexer_) indexer_->fill_cache(thread, threads, 2 * seed + 1);
}

void MlaBlock::run(StepContext& step, int thread) {
  inputs_.project(step, thread);
  rotate_and_append(step, thread);
  step.recorder.finish(thread, inputs_.op_rope());
  if (indexer_) indexer_->run(step, thread);
  absorb_queries(step, thread);
  step.recorder.finish(thread, op_absorb_q_);
  attend(step, thread);
  step.recorder.finish(thread, op_attention_);
  project_values(step, thread);
  step.recorder.finish(thread, op_absorb_v_);
  run_gemm(step, thread, op_out_, out_, {}, step.activations.attention.data(),
           step.activations.y.data());
}

void MlaBlock::rotate_and_append(StepContext& step, int thread) {
  const MlaShape& s = inputs_.shape();
  Bf16* const q = step.activations.mla.absorbed_q.data();
  const auto query_rope = [&, q](std::int64_t sequence, std::int64_t head) {
    return q + (sequence * s.n_heads + head) * inputs_.latent_dim() + s.kv_lora_rank;
  };
  std::int64_t appended = 0;
  const auto latent = [&](std::int64_t sequence) {
    ++appended;
    return cache_.row(sequence, step.position);
  };
  const auto key_rope = [&](std::int64_t sequence) {
    return cache_.row(sequence, step.position) + s.kv_lora_rank;
  };
  inputs_.rotate(step, thread, {query_rope, latent, key_rope});
  step.recorder.bytes(thread, inputs_.op_rope()).kv_write +=
      bf16_bytes(appended * inputs_.latent_dim());
}

void MlaBlock::absorb_queries(StepContext& step, int thread) const {
  Activations& a = step.activations;
  query_up_.multiply(step, thread, op_absorb_q_,
                     {inputs_.query(a, 0), inputs_.query_dim(), inputs_.query_stride()},
                     {a.mla.absorbed_q.data(), inputs_.latent_dim(),
                      inputs_.shape().n_heads * inputs_.latent_dim()});
}

void MlaBlock::attend(StepContext& step, int thread) {
  const MlaShape& s = inputs_.shape();
  LatentActivations& a = step.activations.mla;
  const std::int64_t tokens = step.position + 1;
  const bool sparse = top_ > 0 && top_ < tokens;
  const LatentTask task{.sequences = step.batch,
                        .heads = s.n_heads,
                        .latent_dim = inputs_.latent_dim(),
                        .value_dim = s.kv_lora_rank,
                        .tokens = sparse ? top_ : tokens,
                        .scale = 1.0F / std::sqrt(static_cast<float>(inputs_.query_dim())),
                        .q = a.absorbed_q.data(),
                        .latents = [this](std::int64_t sequence) { return cache_.rows(sequence); },
                        .chosen = sparse ? a.chosen : nullptr,
                        .out = a.mixed.data()};
  const AttentionReads reads = attention_.run(task, step.kernels, step.pool, thread);
  Traffic& bytes = step.recorder.bytes(thread, op_attention_);
  // The newest latent was written a moment ago. Chosen ones count as read, whether it is among them
  // or not, as the operator list has it.
  const std::int64_t unread = sparse ? 0 : reads.items_started;
  bytes.kv_read += bf16_bytes((reads.tokens - unread) * task.latent_dim);
  bytes.activations +=
      bf16_bytes(s.n_heads * (task.latent_dim * (reads.items_started + reads.items_joined) +
                              task.value_dim * reads.items_started));
}

void MlaBlock::project_values(StepContext& step, int thread) const {
  const MlaShape& s = inputs_.shape();
  Activations& a = step.activations;
  value_up_.multiply(step, thread, op_absorb_v_,
                     {a.mla.mixed.data(), s.kv_lora_rank, s.n_heads * s.kv_lora_rank},
                     {a.attention.data(), s.v_head_dim, out_.k()});
}

}  // namespace roofcast
