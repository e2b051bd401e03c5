#pragma once

#include <span>

#include "model/reference/checkpoint/tensor_rules.hpp"

namespace roofcast::detail {

/// Tensors of one part of some model classes; a class has several lists.
using TensorList = std::span<const TensorRule>;

// Shapes that classes share, empty where the layer has no such part.
TensorShape vocabulary(const LayerParts& parts);
TensorShape untied_vocabulary(const LayerParts& parts);  // of a lm_head that is not the embedding
TensorShape hidden(const LayerParts& parts);
TensorShape attn_norm(const LayerParts& parts);
TensorShape ffn_norm(const LayerParts& parts);
TensorShape queries(const LayerParts& parts);
TensorShape keys(const LayerParts& parts);
TensorShape attn_out(const LayerParts& parts);
TensorShape dense_in(const LayerParts& parts);
TensorShape dense_out(const LayerParts& parts);
TensorShape router(const LayerParts& parts);
TensorShape router_bias(const LayerParts& parts);
TensorShape expert_in(const LayerParts& parts);
TensorShape expert_out(const LayerParts& parts);
TensorShape shared_in(const LayerParts& parts);
TensorShape shared_out(const LayerParts& parts);

// What most decoders have (decoder_tensors.cpp).
TensorList decoder_tensors();     // embedding, lm_head, final norm, norm before attention
TensorList ffn_norm_tensors();    // a second norm, before the feed-forward part
TensorList three_norm_tensors();  // that norm and two after blocks (Gemma)
TensorList key_value_tensors();   // of grouped-query attention, all but the queries
TensorList query_tensors();
TensorList gated_mlp_tensors();

// Experts (expert_tensors.cpp).
TensorList mixtral_expert_tensors();
TensorList qwen_expert_tensors();  // DeepSeek's too
TensorList oss_expert_tensors();

// Latent attention and DeepSeek's experts (latent_tensors.cpp).
TensorList latent_tensors();
TensorList deepseek_expert_tensors();  // beside Qwen's

// Layers with a state, and what else their models have (state_tensors.cpp).
TensorList delta_tensors();
TensorList gated_query_tensors();  // in place of query_tensors()
TensorList gated_shared_expert_tensors();
TensorList nemotron_tensors();  // all of Nemotron-H

}  // namespace roofcast::detail
