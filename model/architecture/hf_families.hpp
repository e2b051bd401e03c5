#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/hf_decoder.hpp"

namespace roofcast::detail {

/// Reads one kind of model: fills `model.spec` and its layers from `model.text`.
using ReadFamily = void (*)(HfModel& model);

/// One `model_type` of a text model. A new kind is one row and, where no function fits, a function.
struct HfFamily {
  std::string_view model_type;
  ReadFamily read;
};

/// nullptr for an unknown type.
const HfFamily* find_hf_family(std::string_view model_type);
/// All known types, wrappers included.
std::vector<std::string> hf_model_types();

/// `model_type` of a multimodal config whose language model sits in a map of its own.
struct HfWrapper {
  std::string_view model_type;
  std::string_view text_model_type;  // when the inner map does not say
};
const HfWrapper* find_hf_wrapper(std::string_view model_type);

// Pieces that several families share.
MixerPerLayer read_qwen_windows(HfModel& model, const GqaShape& shape);
FfnPerLayer read_qwen_ffn(HfModel& model, const MoeFfn& moe);
/// Experts, those per token, and their width; each under the first of its names that is there.
MoeFfn read_experts(HfModel& model, std::initializer_list<std::string_view> count_keys,
                    std::initializer_list<std::string_view> width_keys);
MlaShape read_mla_shape(HfModel& model);
FfnPerLayer read_deepseek_ffn(HfModel& model);

// Dense models (hf_dense_families.cpp).
void read_arcee(HfModel& model);
void read_cohere(HfModel& model);
void read_cohere2(HfModel& model);
void read_ernie4_5(HfModel& model);
void read_exaone4(HfModel& model);
void read_gemma(HfModel& model);
void read_gemma2(HfModel& model);
void read_gemma3(HfModel& model);
void read_glm(HfModel& model);
void read_glm4(HfModel& model);
void read_internlm2(HfModel& model);
void read_llama(HfModel& model);
void read_mistral(HfModel& model);
void read_nemotron(HfModel& model);
void read_olmo2(HfModel& model);
void read_olmo3(HfModel& model);
void read_phi3(HfModel& model);
void read_qwen2(HfModel& model);
void read_qwen3(HfModel& model);
void read_seed_oss(HfModel& model);
void read_smollm3(HfModel& model);

// Layer norm and plain feed-forward blocks (hf_classic_families.cpp).
void read_falcon(HfModel& model);
void read_gpt2(HfModel& model);
void read_gpt_neox(HfModel& model);
void read_gptj(HfModel& model);
void read_opt(HfModel& model);
void read_phi(HfModel& model);
void read_stablelm(HfModel& model);
void read_starcoder2(HfModel& model);

// Grouped-query attention and experts (hf_moe_families.cpp).
void read_dots1(HfModel& model);
void read_ernie4_5_moe(HfModel& model);
void read_glm4_moe(HfModel& model);
void read_gpt_oss(HfModel& model);
void read_granitemoe(HfModel& model);
void read_minimax_m2(HfModel& model);
void read_mixtral(HfModel& model);
void read_olmoe(HfModel& model);
void read_phimoe(HfModel& model);
void read_qwen2_moe(HfModel& model);
void read_qwen3_moe(HfModel& model);

// Layers that differ in more than their window (hf_varied_families.cpp).
void read_gemma4(HfModel& model);
void read_llama4(HfModel& model);
void read_nemotron_nas(HfModel& model);  // hf_nas_family.cpp

// Latent and sparse attention (hf_latent_families.cpp).
void read_deepseek(HfModel& model);
void read_deepseek_sparse(HfModel& model);
void read_deepseek_v4(HfModel& model);
void read_minimax_m3(HfModel& model);

// Layers with recurrent state (hf_hybrid_families.cpp).
void read_granite_hybrid(HfModel& model);
void read_kimi_linear(HfModel& model);
void read_lfm2(HfModel& model);
void read_lfm2_moe(HfModel& model);
void read_mamba2(HfModel& model);
void read_minimax_text(HfModel& model);
void read_nemotron_h(HfModel& model);
void read_qwen3_next(HfModel& model);
void read_qwen3_5(HfModel& model);

}  // namespace roofcast::detail
