#include <fmt/format.h>

#include "model/architecture/gguf_blocks.hpp"
#include "model/base/error.hpp"

namespace roofcast {
namespace {

/// Checks the width that a state layer hands to its output projection, (width, hidden).
void expect_output_width(const GgufContext& c, int layer, std::string_view name, std::int64_t width,
                         std::string_view because) {
  const GgufTensor* out = c.tensors.block(layer, name);
  if (out == nullptr) refuse_block(c, layer, fmt::format("a state layer without {}", name));
  if (out->dims.empty() || out->dims[0] != width)
    throw SpecError(place_message(c.fields.file(), {}, out->name,
                                  fmt::format("expected rows of {} ({}), got {}", width, because,
                                              out->dims.empty() ? 1 : out->dims[0])));
}

/// Qwen3-Next and Qwen3.5 write their linear attention in the keys of Mamba: the state's side is
/// the head size, groups are key heads, the step rank is the number of value heads.
Mixer gated_delta(const GgufContext& c, int layer) {
  GatedDeltaNet kind;
  kind.n_key_heads = c.fields.required("ssm.group_count");
  kind.n_value_heads = c.fields.required("ssm.time_step_rank");
  kind.key_head_dim = kind.value_head_dim = c.fields.required("ssm.state_size");
  kind.conv_kernel = c.fields.required("ssm.conv_kernel");
  c.fields.ignore("ssm.inner_size", "value heads x state_size");
  expect_output_width(c, layer, "ssm_out.weight", kind.n_value_heads * kind.value_head_dim,
                      "value heads x state_size");
  return kind;
}

Mixer kimi_delta(const GgufContext& c, int layer) {
  KimiDeltaAttention kind;
  kind.n_heads = c.heads.n_heads[static_cast<std::size_t>(layer)];
  kind.head_dim = c.fields.required("kda.head_dim");
  kind.conv_kernel = c.fields.required("ssm.conv_kernel");
  kind.full_rank_gate = !c.tensors.any(layer, "ssm_g_a");
  expect_output_width(c, layer, "attn_output.weight", kind.n_heads * kind.head_dim,
                      "heads x kda.head_dim");
  return kind;
}

Mixer mamba2(const GgufContext& c, int layer) {
  Mamba2 kind;
  const std::int64_t inner = c.fields.required("ssm.inner_size");
  kind.n_heads = c.fields.required("ssm.time_step_rank");
  kind.n_groups = c.fields.required("ssm.group_count");
  kind.state_dim = c.fields.required("ssm.state_size");
  kind.conv_kernel = c.fields.required("ssm.conv_kernel");
  if (inner % kind.n_heads != 0)
    c.fields.fail(c.fields.architecture() + ".ssm.inner_size",
                  fmt::format("expected a multiple of {} heads, got {}", kind.n_heads, inner));
  kind.head_dim = inner / kind.n_heads;
  kind.conv_bias = c.tensors.has(layer, "ssm_conv1d.bias");
  expect_output_width(c, layer, "ssm_out.weight", inner, "inner_size");
  return kind;
}

Mixer mamba1(const GgufContext& c, int layer) {
  Mamba1 kind;
  kind.inner_dim = c.fields.required("ssm.inner_size");
  kind.state_dim = c.fields.required("ssm.state_size");
  kind.dt_rank = c.fields.required("ssm.time_step_rank");
  kind.conv_kernel = c.fields.required("ssm.conv_kernel");
  kind.conv_bias = c.tensors.has(layer, "ssm_conv1d.bias");
  kind.inner_norms = c.tensors.has(layer, "ssm_dt_norm.weight");
  expect_output_width(c, layer, "ssm_out.weight", kind.inner_dim, "inner_size");
  return kind;
}

Mixer short_convolution(const GgufContext& c, int layer) {
  ShortConvolution kind;
  kind.conv_kernel = c.fields.required("shortconv.l_cache");
  kind.conv_dim = c.hidden_dim;
  kind.bias = c.tensors.has(layer, "shortconv.in_proj.bias");
  if (const GgufTensor* in = c.tensors.block(layer, "shortconv.in_proj.weight"))
    expect_rows(c, *in, 3 * c.hidden_dim, "two gates and an input");
  return kind;
}

}  // namespace

Mixer gguf_state_mixer(const GgufContext& c, int layer) {
  if (c.tensors.any(layer, "time_mix_")) refuse_block(c, layer, "an RWKV state");
  if (c.tensors.any(layer, "shortconv.")) return short_convolution(c, layer);
  if (c.tensors.any(layer, "ssm_f_a")) return kimi_delta(c, layer);
  if (c.tensors.any(layer, "ssm_ba") || c.tensors.any(layer, "ssm_beta"))
    return gated_delta(c, layer);
  if (c.tensors.has(layer, "attn_q.weight") || c.tensors.has(layer, "attn_qkv.weight"))
    refuse_block(c, layer, "attention and a state side by side");
  if (c.tensors.any(layer, "ssm_x")) return mamba1(c, layer);
  if (c.tensors.any(layer, "ssm_in")) return mamba2(c, layer);
  refuse_block(c, layer, "a recurrent state of an unknown form");
}

}  // namespace roofcast
