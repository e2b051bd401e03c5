#pragma once

#include <cmath>
#include <type_traits>
#include <utility>

#include "model/architecture/architecture_spec.hpp"
#include "tests/reference/exact_ffn.hpp"
#include "tests/reference/exact_gqa.hpp"
#include "tests/reference/exact_latent.hpp"
#include "tests/reference/exact_state.hpp"

namespace roofcast {

/// Decodes one sequence of any model that the engine runs, in double and without a rounding
/// anywhere: what the model means, to compare both the engine and other implementations with.
class ExactDecoder {
 public:
  ExactDecoder(const ArchitectureSpec& spec, const ModelSemantics& semantics, ExactRows rows)
      : spec_(spec),
        semantics_(semantics),
        w_(std::move(rows)),
        gqa_(w_, semantics_),
        latent_(w_, semantics_),
        state_(w_, semantics_),
        ffn_(w_, semantics_) {}
  ExactDecoder(const ExactDecoder&) = delete;
  ExactDecoder& operator=(const ExactDecoder&) = delete;

  /// Logits after `token`.
  Vector step(std::int64_t token) {
    Vector residual = w_.row(Tensor::embedding, -1, token, spec_.hidden_dim);
    for (double& v : residual) v *= static_cast<double>(semantics_.embedding_scale);
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
      const int layer = static_cast<int>(i);
      const auto& mixer = spec_.mixers[static_cast<std::size_t>(spec_.layers[i].mixer)].kind;
      const auto& ffn = spec_.ffns[static_cast<std::size_t>(spec_.layers[i].ffn)].kind;
      std::visit([&](const auto& kind) { add_block(residual, kind, layer); }, mixer);
      std::visit([&](const auto& kind) { add_block(residual, kind, layer); }, ffn);
    }
    ++position_;
    const Tensor head = spec_.tied_embeddings ? Tensor::embedding : Tensor::lm_head;
    Vector logits = w_.times(head, -1, spec_.vocab_size, norm(residual, Tensor::final_norm, -1));
    const auto cap = static_cast<double>(semantics_.logit_softcap);
    for (double& v : logits) v = cap > 0.0 ? cap * std::tanh(v / cap) : v;
    return logits;
  }

  double least_margin() const { return ffn_.least_margin(); }

 private:
  Vector norm(const Vector& x, Tensor weight, int layer) {
    return exact_norm(x, w_.row(weight, layer, 0, spec_.hidden_dim),
                      static_cast<double>(semantics_.norm_epsilon),
                      static_cast<double>(semantics_.norm_offset));
  }

  template <typename Kind>
  void add_block(Vector& residual, const Kind& kind, int layer) {
    if constexpr (std::is_same_v<Kind, NoMixer> || std::is_same_v<Kind, NoFfn>) return;
    constexpr bool kIsFfn = std::is_same_v<Kind, DenseFfn> || std::is_same_v<Kind, MoeFfn>;
    Vector y =
        run(kind, layer, norm(residual, kIsFfn ? Tensor::ffn_norm : Tensor::attn_norm, layer));
    if (spec_.norms_per_block == 2)
      y = norm(y, kIsFfn ? Tensor::ffn_post_norm : Tensor::attn_post_norm, layer);
    add_to(residual, y);
  }

  template <typename Kind>
  Vector run(const Kind& kind, int layer, const Vector& x) {
    if constexpr (requires { ffn_.run(kind, layer, x); })
      return ffn_.run(kind, layer, x);
    else if constexpr (requires { gqa_.run(kind, layer, position_, x); })
      return gqa_.run(kind, layer, position_, x);
    else if constexpr (requires { latent_.run(kind, layer, position_, x); })
      return latent_.run(kind, layer, position_, x);
    else if constexpr (requires { state_.run(kind, layer, x); })
      return state_.run(kind, layer, x);
    else
      throw std::invalid_argument("no exact form of this kind");
  }

  ArchitectureSpec spec_;
  ModelSemantics semantics_;
  ExactWeights w_;
  ExactGqa gqa_;
  ExactLatent latent_;
  ExactState state_;
  ExactFfn ffn_;
  std::int64_t position_ = 0;
};

}  // namespace roofcast
