#include <fmt/format.h>

#include <algorithm>

#include "model/architecture/gguf_blocks.hpp"
#include "model/base/error.hpp"

namespace roofcast {
namespace {

/// Width of a block from its down projection, (width, hidden), which all forms have.
std::int64_t width_of(const GgufContext& c, const GgufTensor& down) {
  if (down.dims.size() < 2 || down.dims[1] != c.hidden_dim)
    throw SpecError(
        place_message(c.fields.file(), {}, down.name,
                      fmt::format("expected {} rows (embedding_length), got {}", c.hidden_dim,
                                  down.dims.size() < 2 ? 1 : down.dims[1])));
  return down.dims[0];
}

/// Gated blocks have a gate matrix of their own or one matrix of twice the width (Phi-3, GLM-4).
FfnForm form_of(const GgufContext& c, int layer, std::int64_t width) {
  if (c.tensors.has(layer, "ffn_gate.weight")) return FfnForm::gated;
  const GgufTensor* up = c.tensors.block(layer, "ffn_up.weight");
  const bool merged = up != nullptr && up->dims.size() > 1 && up->dims[1] == 2 * width;
  return merged ? FfnForm::gated : FfnForm::plain;
}

DenseFfn dense(const GgufContext& c, int layer, const GgufTensor& down) {
  DenseFfn ffn;
  ffn.ffn_dim = width_of(c, down);
  ffn.form = form_of(c, layer, ffn.ffn_dim);
  ffn.bias = c.tensors.has(layer, "ffn_down.bias");
  return ffn;
}

/// Down projection of the experts: all in one tensor, or (before 2024-04) one tensor each.
const GgufTensor* experts_down(const GgufContext& c, int layer) {
  if (const GgufTensor* merged = c.tensors.block(layer, "ffn_down_exps.weight")) return merged;
  return c.tensors.block(layer, "ffn_down.0.weight");
}

void read_shared(const GgufContext& c, int layer, MoeFfn& moe) {
  const GgufTensor* down = c.tensors.block(layer, "ffn_down_shexp.weight");
  if (down == nullptr) return;
  const std::int64_t width = width_of(c, *down);
  moe.n_shared_experts =
      std::max<std::int64_t>(c.fields.whole("expert_shared_count").value_or(1), 1);
  if (width % moe.n_shared_experts != 0)
    c.fields.fail(down->name, fmt::format("expected a width for {} shared experts, got {}",
                                          moe.n_shared_experts, width));
  moe.shared_expert_dim = width / moe.n_shared_experts;
  moe.shared_gate = c.tensors.has(layer, "ffn_gate_inp_shexp.weight");
}

MoeFfn mixture(const GgufContext& c, int layer, const GgufTensor& down) {
  if (c.tensors.any(layer, "ffn_down_chexps")) refuse_block(c, layer, "chunked experts (GroveMoE)");
  MoeFfn moe;
  moe.n_experts = c.fields.required("expert_count");
  moe.n_experts_per_token = c.fields.required("expert_used_count");
  if (moe.n_experts_per_token > moe.n_experts)
    c.fields.fail(
        c.fields.architecture() + ".expert_used_count",
        fmt::format("expected at most {} experts, got {}", moe.n_experts, moe.n_experts_per_token));
  moe.expert_dim = down.dims.empty() ? 0 : down.dims[0];
  const bool merged = down.name.find("_exps") != std::string::npos;
  if (merged && (down.dims.size() != 3 || down.dims[2] != moe.n_experts))
    throw SpecError(place_message(c.fields.file(), {}, down.name,
                                  fmt::format("expected {} experts in it", moe.n_experts)));
  if (c.tensors.has(layer, "ffn_latent_down.weight")) moe.latent_dim = down.dims[1];
  const bool gated = c.tensors.has(layer, "ffn_gate_exps.weight") ||
                     c.tensors.has(layer, "ffn_gate_up_exps.weight") ||
                     c.tensors.has(layer, "ffn_gate.0.weight");
  moe.form = gated ? FfnForm::gated : FfnForm::plain;
  moe.router_bias =
      c.tensors.has(layer, "exp_probs_b.bias") || c.tensors.has(layer, "ffn_gate_inp.bias");
  moe.expert_bias = c.tensors.has(layer, "ffn_down_exps.bias");
  read_shared(c, layer, moe);
  if (const GgufTensor* beside = c.tensors.block(layer, "ffn_down.weight"))
    moe.dense_dim = width_of(c, *beside);
  return moe;
}

}  // namespace

FeedForward gguf_feed_forward(const GgufContext& c, int layer) {
  if (const GgufTensor* down = experts_down(c, layer)) return mixture(c, layer, *down);
  if (const GgufTensor* down = c.tensors.block(layer, "ffn_down.weight"))
    return dense(c, layer, *down);
  if (c.tensors.any(layer, "ffn_up") || c.tensors.any(layer, "ffn_gate"))
    refuse_block(c, layer, "a feed-forward part without its down projection");
  if (c.tensors.any(layer, "channel_mix")) refuse_block(c, layer, "RWKV channel mixing");
  return NoFfn{};
}

}  // namespace roofcast
