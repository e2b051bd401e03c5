#include "model/reference/checkpoint/tensor_rules.hpp"

#include "model/base/error.hpp"
#include "model/reference/checkpoint/tensor_lists.hpp"

namespace roofcast {
namespace {

/// A `model_type` and the lists that together hold its tensors.
struct Family {
  std::string_view model_type;
  std::vector<detail::TensorList> lists;
};

std::vector<Family> families() {
  const std::vector<detail::TensorList> llama = {
      detail::decoder_tensors(), detail::ffn_norm_tensors(), detail::query_tensors(),
      detail::key_value_tensors(), detail::gated_mlp_tensors()};
  const auto attention_and = [](std::initializer_list<detail::TensorList> others) {
    std::vector<detail::TensorList> lists = {detail::decoder_tensors(), detail::query_tensors(),
                                             detail::key_value_tensors()};
    lists.insert(lists.end(), others);
    return lists;
  };
  return {
      {"llama", llama},
      {"mistral", llama},
      {"qwen2", llama},
      {"qwen3", llama},
      {"gemma3_text", attention_and({detail::three_norm_tensors(), detail::gated_mlp_tensors()})},
      {"mixtral", attention_and({detail::ffn_norm_tensors(), detail::mixtral_expert_tensors()})},
      {"qwen3_moe", attention_and({detail::ffn_norm_tensors(), detail::gated_mlp_tensors(),
                                   detail::qwen_expert_tensors()})},
      {"gpt_oss", attention_and({detail::ffn_norm_tensors(), detail::oss_expert_tensors()})},
      {"deepseek_v3",
       {detail::decoder_tensors(), detail::ffn_norm_tensors(), detail::latent_tensors(),
        detail::gated_mlp_tensors(), detail::qwen_expert_tensors(),
        detail::deepseek_expert_tensors()}},
      {"qwen3_next",
       {detail::decoder_tensors(), detail::ffn_norm_tensors(), detail::gated_query_tensors(),
        detail::key_value_tensors(), detail::delta_tensors(), detail::gated_mlp_tensors(),
        detail::qwen_expert_tensors(), detail::gated_shared_expert_tensors()}},
      {"nemotron_h", {detail::nemotron_tensors()}},
  };
}

std::string replaced(std::string text, std::string_view mark, std::int64_t number) {
  const std::size_t at = text.find(mark);
  return at == std::string::npos ? text : text.replace(at, mark.size(), std::to_string(number));
}

}  // namespace

std::vector<TensorRule> tensor_rules(std::string_view model_type) {
  std::vector<std::string> known;
  for (const Family& family : families()) {
    known.emplace_back(family.model_type);
    if (family.model_type != model_type) continue;
    std::vector<TensorRule> rules;
    for (const auto& list : family.lists) rules.insert(rules.end(), list.begin(), list.end());
    return rules;
  }
  throw UnsupportedError("the reference engine knows no weights of model_type " +
                         in_quotes(model_type) + "; it knows those of " + list_of(known));
}

std::string tensor_name(const TensorRule& rule, std::size_t layer, std::int64_t expert) {
  return replaced(replaced(std::string(rule.name), "{layer}", static_cast<std::int64_t>(layer)),
                  "{expert}", expert);
}

LayerParts parts_of_layer(const ArchitectureSpec& spec, std::size_t layer) {
  const Layer& at = spec.layers[layer];
  const Mixer& mixer = spec.mixers[static_cast<std::size_t>(at.mixer)].kind;
  const FeedForward& ffn = spec.ffns[static_cast<std::size_t>(at.ffn)].kind;
  LayerParts parts;
  parts.spec = &spec;
  if (const auto* const m = std::get_if<GroupedQueryAttention>(&mixer)) parts.gqa = &m->shape;
  if (const auto* const m = std::get_if<SlidingWindowAttention>(&mixer)) parts.gqa = &m->shape;
  if (const auto* const m = std::get_if<ChunkedAttention>(&mixer)) parts.gqa = &m->shape;
  if (const auto* const m = std::get_if<MultiHeadLatentAttention>(&mixer)) parts.mla = &m->shape;
  parts.delta = std::get_if<GatedDeltaNet>(&mixer);
  parts.mamba = std::get_if<Mamba2>(&mixer);
  parts.dense = std::get_if<DenseFfn>(&ffn);
  parts.moe = std::get_if<MoeFfn>(&ffn);
  return parts;
}

}  // namespace roofcast
