#include "model/architecture/hf_families.hpp"

#include <array>

namespace roofcast::detail {
namespace {

/// The one list of kinds of text models. Where two share a function, their configs differ only in
/// keys that the function reads.
constexpr std::array kFamilies = {
    HfFamily{"arcee", read_arcee},
    HfFamily{"cohere", read_cohere},
    HfFamily{"cohere2", read_cohere2},
    HfFamily{"deepseek_v2", read_deepseek},
    HfFamily{"deepseek_v3", read_deepseek},
    HfFamily{"deepseek_v32", read_deepseek_sparse},
    HfFamily{"deepseek_v4", read_deepseek_v4},
    HfFamily{"dots1", read_dots1},
    HfFamily{"ernie4_5", read_ernie4_5},
    HfFamily{"ernie4_5_moe", read_ernie4_5_moe},
    HfFamily{"exaone4", read_exaone4},
    HfFamily{"falcon", read_falcon},
    HfFamily{"gemma", read_gemma},
    HfFamily{"gemma2", read_gemma2},
    HfFamily{"gemma3_text", read_gemma3},
    HfFamily{"gemma4_text", read_gemma4},
    HfFamily{"glm", read_glm},
    HfFamily{"glm4", read_glm4},
    HfFamily{"glm4_moe", read_glm4_moe},
    HfFamily{"glm4_moe_lite", read_deepseek},
    HfFamily{"glm_moe_dsa", read_deepseek_sparse},
    HfFamily{"gpt2", read_gpt2},
    HfFamily{"gpt_bigcode", read_gpt2},
    HfFamily{"gpt_neox", read_gpt_neox},
    HfFamily{"gpt_oss", read_gpt_oss},
    HfFamily{"gptj", read_gptj},
    HfFamily{"granite", read_llama},
    HfFamily{"granitemoe", read_granitemoe},
    HfFamily{"granitemoehybrid", read_granite_hybrid},
    HfFamily{"granitemoeshared", read_granitemoe},
    HfFamily{"internlm2", read_internlm2},
    HfFamily{"kimi_k2", read_deepseek},
    HfFamily{"kimi_linear", read_kimi_linear},
    HfFamily{"lfm2", read_lfm2},
    HfFamily{"lfm2_moe", read_lfm2_moe},
    HfFamily{"llama", read_llama},
    HfFamily{"llama4_text", read_llama4},
    HfFamily{"mamba2", read_mamba2},
    HfFamily{"minimax", read_minimax_text},
    HfFamily{"minimax_m2", read_minimax_m2},
    HfFamily{"minimax_m3", read_minimax_m3},
    HfFamily{"minimax_text_01", read_minimax_text},
    HfFamily{"ministral", read_mistral},
    HfFamily{"ministral3", read_mistral},
    HfFamily{"mistral", read_mistral},
    HfFamily{"mixtral", read_mixtral},
    HfFamily{"nemotron", read_nemotron},
    HfFamily{"nemotron-nas", read_nemotron_nas},
    HfFamily{"nemotron_h", read_nemotron_h},
    HfFamily{"olmo2", read_olmo2},
    HfFamily{"olmo3", read_olmo3},
    HfFamily{"olmoe", read_olmoe},
    HfFamily{"opt", read_opt},
    HfFamily{"phi", read_phi},
    HfFamily{"phi3", read_phi3},
    HfFamily{"phimoe", read_phimoe},
    HfFamily{"qwen2", read_qwen2},
    HfFamily{"qwen2_5_vl", read_qwen2},
    HfFamily{"qwen2_5_vl_text", read_qwen2},
    HfFamily{"qwen2_moe", read_qwen2_moe},
    HfFamily{"qwen2_vl", read_qwen2},
    HfFamily{"qwen2_vl_text", read_qwen2},
    HfFamily{"qwen3", read_qwen3},
    HfFamily{"qwen3_5_moe_text", read_qwen3_5},
    HfFamily{"qwen3_5_text", read_qwen3_5},
    HfFamily{"qwen3_moe", read_qwen3_moe},
    HfFamily{"qwen3_next", read_qwen3_next},
    HfFamily{"qwen3_vl_moe_text", read_qwen3_moe},
    HfFamily{"qwen3_vl_text", read_qwen3},
    HfFamily{"seed_oss", read_seed_oss},
    HfFamily{"smollm3", read_smollm3},
    HfFamily{"stablelm", read_stablelm},
    HfFamily{"starcoder2", read_starcoder2},
};

/// Configs whose language model sits in a map of its own, and what it is when the map is silent.
constexpr std::array kWrappers = {
    HfWrapper{"aya_vision", "cohere2"},
    HfWrapper{"gemma3", "gemma3_text"},
    HfWrapper{"gemma4", "gemma4_text"},
    HfWrapper{"glm4v", "glm4"},
    HfWrapper{"internvl", "qwen2"},
    HfWrapper{"kimi_k25", "kimi_k2"},
    HfWrapper{"kimi_k3", "kimi_linear"},
    HfWrapper{"kimi_vl", "deepseek_v3"},
    HfWrapper{"llama4", "llama4_text"},
    HfWrapper{"llava", "llama"},
    HfWrapper{"llava_next", "llama"},
    HfWrapper{"mistral3", "mistral"},
    HfWrapper{"qwen2_5_vl", "qwen2_5_vl_text"},
    HfWrapper{"qwen2_vl", "qwen2_vl_text"},
    HfWrapper{"qwen3_5", "qwen3_5_text"},
    HfWrapper{"qwen3_5_moe", "qwen3_5_moe_text"},
    HfWrapper{"qwen3_vl", "qwen3_vl_text"},
    HfWrapper{"qwen3_vl_moe", "qwen3_vl_moe_text"},
};

}  // namespace

const HfFamily* find_hf_family(std::string_view model_type) {
  for (const HfFamily& family : kFamilies)
    if (family.model_type == model_type) return &family;
  return nullptr;
}

const HfWrapper* find_hf_wrapper(std::string_view model_type) {
  for (const HfWrapper& wrapper : kWrappers)
    if (wrapper.model_type == model_type) return &wrapper;
  return nullptr;
}

std::vector<std::string> hf_model_types() {
  std::vector<std::string> names;
  for (const HfFamily& family : kFamilies) names.emplace_back(family.model_type);
  for (const HfWrapper& wrapper : kWrappers) names.emplace_back(wrapper.model_type);
  return names;
}

}  // namespace roofcast::detail
