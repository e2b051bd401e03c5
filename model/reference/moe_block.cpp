#include "model/reference/moe_block.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

const MoeFfn& checked(const MoeFfn& f) {
  refuse_if(f.n_experts < 1 || f.n_experts_per_token < 1 || f.n_experts_per_token > f.n_experts,
            "a mixture of experts (\"moe\") whose tokens use none or more than all of them");
  refuse_if(f.latent_dim > 0, "experts that work in a latent space");
  refuse_if(f.latent_norm, "a norm after experts");
  refuse_if(f.expert_dim % 2 != 0 || f.shared_expert_dim % 2 != 0 || f.dense_dim % 2 != 0,
            "experts of an odd width");
  return f;
}

void check_routing(const MoeFfn& f, const RouterSemantics& r) {
  refuse_if(r.groups < 1 || r.groups > kMaxRouterGroups || f.n_experts % r.groups != 0,
            "experts that do not divide into at most 64 groups of a router");
  refuse_if(r.groups_per_token < 1 || r.groups_per_token > r.groups ||
                r.groups_per_token * (f.n_experts / r.groups) < f.n_experts_per_token,
            "a router whose groups per token are too few for the experts per token, or too many");
}

/// A dense part of a mixture of experts; none without a width.
std::optional<DenseFfnBlock> dense_part(const MoeFfn& f, std::int64_t width,
                                        const LayerSetup& setup, const DensePart& part) {
  if (width == 0) return std::nullopt;
  return DenseFfnBlock({.ffn_dim = width, .form = f.form, .bias = false}, setup, part);
}

}  // namespace

MoeBlock::MoeBlock(const MoeFfn& ffn, const LayerSetup& setup)
    : ffn_(checked(ffn)),
      layer_(setup.layer),
      gated_(ffn.form == FfnForm::gated),
      op_router_(setup.operators.claim(setup.layer_class, "router")),
      op_experts_(setup.operators.claim(setup.layer_class, "moe_experts")),
      router_(make_matrix(setup, Component::router, ffn.n_experts, setup.hidden_dim)),
      activation_(activation_of(setup.semantics, ffn.form)),
      swiglu_(setup.semantics.swiglu),
      routing_(setup.semantics.router) {
  check_routing(ffn, routing_);
  refuse_if(activation_ == Activation::clamped_swiglu && !gated_,
            "a clamped SwiGLU without a gate");
  load_router(setup);
  build_experts(setup);
  if (ffn.expert_bias) load_expert_biases(setup);
  shared_ = dense_part(ffn, ffn.n_shared_experts * ffn.shared_expert_dim, setup, kSharedExperts);
  dense_ = dense_part(ffn, ffn.dense_dim, setup, kDenseLayer);
}

void MoeBlock::load_router(const LayerSetup& setup) {
  if (ffn_.router_bias) {
    router_bias_ = load_vector(setup.weights, Tensor::router_bias, layer_, ffn_.n_experts);
    if (routing_.bias_only_chooses) {
      for (const Bf16 bias : router_bias_) choice_bias_.push_back(bf16_to_float(bias));
      router_bias_.clear();
    }
  }
  if (ffn_.shared_gate)
    shared_output_gate_ =
        load_vector(setup.weights, Tensor::shared_output_gate, layer_, setup.hidden_dim);
  if (setup.routing_skew > 0.0) skew_ = zipf_offsets(ffn_.n_experts, setup.routing_skew, layer_);
}

void MoeBlock::load_expert_biases(const LayerSetup& setup) {
  for (std::int64_t e = 0; e < ffn_.n_experts; ++e) {
    const auto load = [&](Tensor tensor, std::int64_t width) {
      return load_vector(setup.weights, tensor, layer_, width, e);
    };
    Expert& expert = experts_[static_cast<std::size_t>(e)];
    expert.up_bias = load(Tensor::expert_up_bias, ffn_.expert_dim);
    if (gated_) expert.gate_bias = load(Tensor::expert_gate_bias, ffn_.expert_dim);
    expert.down_bias = load(Tensor::expert_down_bias, setup.hidden_dim);
  }
}

void MoeBlock::build_experts(const LayerSetup& setup) {
  for (std::int64_t e = 0; e < ffn_.n_experts; ++e) {
    // An expert has few row tiles: starting at another thread each, many experts keep all busy.
    const auto matrix = [&](std::int64_t rows, std::int64_t k) {
      return make_matrix(setup, Component::routed_experts, rows, k, e);
    };
    Expert& expert = experts_.emplace_back();
    expert.up = matrix(ffn_.expert_dim, setup.hidden_dim);
    if (gated_) expert.gate = matrix(ffn_.expert_dim, setup.hidden_dim);
    expert.down = matrix(setup.hidden_dim, ffn_.expert_dim);
  }
}

void MoeBlock::fill(int thread, const WeightSource& weights) {
  const auto fill_matrix = [&](PackedMatrix& matrix, Tensor tensor, std::int64_t first_row) {
    matrix.fill(thread, [&](std::int64_t row, Bf16* out) {
      weights({.tensor = tensor, .layer = layer_, .row = first_row + row, .width = matrix.k()},
              out);
    });
  };
  fill_matrix(router_, Tensor::router, 0);
  for (std::int64_t e = 0; e < ffn_.n_experts; ++e) {
    Expert& expert = experts_[static_cast<std::size_t>(e)];
    fill_matrix(expert.up, Tensor::expert_up, e * expert.up.rows());
    if (gated_) fill_matrix(expert.gate, Tensor::expert_gate, e * expert.gate.rows());
    fill_matrix(expert.down, Tensor::expert_down, e * expert.down.rows());
  }
  if (shared_) shared_->fill(thread, weights);
  if (dense_) dense_->fill(thread, weights);
}

void MoeBlock::reserve(std::int64_t batch, int threads, Activations& a) {
  const std::int64_t pairs = batch * ffn_.n_experts_per_token;
  choices_.assign(static_cast<std::size_t>(pairs), ExpertChoice{});
  a.experts.reserve(threads, pairs, router_.k(), ffn_.expert_dim);
  a.scores.resize(std::max(a.scores.size(), static_cast<std::size_t>(batch * ffn_.n_experts)));
  a.part.resize(std::max(a.part.size(), static_cast<std::size_t>(batch * router_.k())));
  a.gates.resize(std::max(a.gates.size(), static_cast<std::size_t>(batch)));
  if (shared_) shared_->reserve(batch, threads, a);
  if (dense_) dense_->reserve(batch, threads, a);
}

void MoeBlock::run(StepContext& step, int thread) {
  run_router(step, thread);
  run_experts_of(step, thread);
  const float* const gates = ffn_.shared_gate ? step.activations.gates.data() : nullptr;
  if (shared_) shared_->run_beside(step, thread, gates);
  if (dense_) dense_->run_beside(step, thread, nullptr);
}

void MoeBlock::run_router(StepContext& step, int thread) {
  Activations& a = step.activations;
  multiply_own_rows(step, thread, op_router_, router_, router_bias_, a.x.data(), a.scores.data());
  // A bias that only chooses counts with the router, whatever adds it.
  if (thread == 0)
    step.recorder.bytes(thread, op_router_).weights +=
        bf16_bytes(static_cast<std::int64_t>(choice_bias_.size()));
  // The operator list counts the gate on the shared experts with the router.
  if (ffn_.shared_gate) {
    const Range own = part_of(step.batch, thread, step.pool.size());
    for (std::int64_t token = own.begin; token < own.end; ++token) {
      const float score = step.kernels.dot(a.x.data() + token * router_.k(),
                                           shared_output_gate_.data(), router_.k());
      a.gates[static_cast<std::size_t>(token)] = 1.0F / (1.0F + std::exp(-score));
    }
    // Once: tokens after the first find the weights in the cache.
    if (thread == 0) step.recorder.bytes(thread, op_router_).weights += bf16_bytes(router_.k());
  }
  step.recorder.finish(thread, op_router_);
}

void MoeBlock::run_experts_of(StepContext& step, int thread) {
  Activations& a = step.activations;
  const ExpertTask task{
      .batch = step.batch,
      .hidden_dim = router_.k(),
      .expert_dim = ffn_.expert_dim,
      .experts = ffn_.n_experts,
      .per_token = ffn_.n_experts_per_token,
      .scores = a.scores.data(),
      .x = a.x.data(),
      .y = a.y.data(),
      .router = {.semantics = routing_,
                 .choice_bias = choice_bias_.empty() ? nullptr : choice_bias_.data(),
                 .offsets = skew_.empty() ? nullptr : skew_.data()},
      .activation = activation_,
      .swiglu = swiglu_,
      .slice = [this](std::int64_t expert, int owner) { return slice(expert, owner); }};
  const ExpertReads reads = run_experts(task, choices_, a.experts, step.kernels, step.pool, thread);
  Traffic& bytes = step.recorder.bytes(thread, op_experts_);
  bytes.weights += Bytes{static_cast<double>(reads.weight_bytes)};
  bytes.activations += bf16_bytes(reads.activations);
  if (thread == 0) experts_hit_ = reads.experts_hit;
  step.recorder.finish(thread, op_experts_);
}

ExpertSlice MoeBlock::slice(std::int64_t expert, int thread) const {
  const Expert& e = experts_[static_cast<std::size_t>(expert)];
  const auto part = [](const std::vector<Bf16>& bias, const Range& rows) {
    return bias.empty() ? nullptr : bias.data() + rows.begin;
  };
  const Range inner = e.up.slab(thread);
  const Range outer = e.down.slab(thread);
  return {.inner = inner,
          .outer = outer,
          .up = e.up.weights(thread),
          .gate = gated_ ? e.gate.weights(thread) : WeightSlab{},
          .down = e.down.weights(thread),
          .up_bias = part(e.up_bias, inner),
          .gate_bias = part(e.gate_bias, inner),
          .down_bias = part(e.down_bias, outer)};
}

}  // namespace roofcast
