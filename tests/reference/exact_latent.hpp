#pragma once

#include <cmath>
#include <map>

#include "model/attention/attention.hpp"
#include "model/reference/model_semantics.hpp"
#include "tests/reference/exact_gqa.hpp"
#include "tests/reference/exact_weights.hpp"

namespace roofcast {

/// Multi-head latent attention in double, with keys and values of every head expanded from the
/// latents at every step.
class ExactLatent {
 public:
  ExactLatent(ExactWeights& weights, const ModelSemantics& semantics)
      : w_(weights), semantics_(semantics) {}

  Vector run(const MultiHeadLatentAttention& a, int layer, std::int64_t position, const Vector& x) {
    const MlaShape& s = a.shape;
    Vector latent = w_.times(Tensor::kv_down, layer, s.kv_lora_rank + s.qk_rope_head_dim, x);
    Vector rope(latent.begin() + s.kv_lora_rank, latent.end());
    latent.resize(static_cast<std::size_t>(s.kv_lora_rank));
    exact_rotate(rope, position, s.qk_rope_head_dim, semantics_.rotary.theta);
    latents_[layer].push_back(norm(latent, Tensor::kv_latent_norm, layer));
    ropes_[layer].push_back(rope);
    const std::int64_t qk = s.qk_nope_head_dim + s.qk_rope_head_dim;
    const Vector queries = w_.times(Tensor::q, layer, s.n_heads * qk, query_input(s, layer, x));
    Vector mixed;
    for (std::int64_t h = 0; h < s.n_heads; ++h) {
      Vector nope(queries.begin() + h * qk, queries.begin() + h * qk + s.qk_nope_head_dim);
      Vector turned(queries.begin() + h * qk + s.qk_nope_head_dim, queries.begin() + (h + 1) * qk);
      exact_rotate(turned, position, s.qk_rope_head_dim, semantics_.rotary.theta);
      const Vector out = mix(s, layer, h, nope, turned);
      mixed.insert(mixed.end(), out.begin(), out.end());
    }
    return w_.times(Tensor::attn_out, layer, static_cast<std::int64_t>(x.size()), mixed);
  }

 private:
  Vector norm(const Vector& x, Tensor weight, int layer) {
    return exact_norm(x, w_.row(weight, layer, 0, static_cast<std::int64_t>(x.size())),
                      static_cast<double>(semantics_.norm_epsilon), 0.0);
  }

  Vector query_input(const MlaShape& s, int layer, const Vector& x) {
    if (s.q_lora_rank == 0) return x;
    return norm(w_.times(Tensor::q_down, layer, s.q_lora_rank, x), Tensor::q_latent_norm, layer);
  }

  Vector mix(const MlaShape& s, int layer, std::int64_t head, const Vector& nope,
             const Vector& rope) {
    const std::int64_t first = head * (s.qk_nope_head_dim + s.v_head_dim);
    const double scale =
        1.0 / std::sqrt(static_cast<double>(s.qk_nope_head_dim + s.qk_rope_head_dim));
    double total = 0.0;
    Vector out(static_cast<std::size_t>(s.v_head_dim), 0.0);
    for (std::size_t t = 0; t < latents_[layer].size(); ++t) {
      const Vector& latent = latents_[layer][t];
      const Vector key = w_.times(Tensor::kv_up, layer, s.qk_nope_head_dim, latent, first);
      const double score =
          std::inner_product(nope.begin(), nope.end(), key.begin(), 0.0) +
          std::inner_product(rope.begin(), rope.end(), ropes_[layer][t].begin(), 0.0);
      const double weight = std::exp(score * scale);
      total += weight;
      add_to(out, w_.times(Tensor::kv_up, layer, s.v_head_dim, latent, first + s.qk_nope_head_dim),
             weight);
    }
    for (double& v : out) v /= total;
    return out;
  }

  ExactWeights& w_;
  const ModelSemantics& semantics_;
  std::map<int, std::vector<Vector>> latents_, ropes_;  // by layer, then token
};

}  // namespace roofcast
