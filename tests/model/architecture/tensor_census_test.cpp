#include "model/architecture/tensor_census.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "model/architecture/gguf_header.hpp"
#include "tests/model/architecture/gguf_builder.hpp"

using namespace roofcast;
using enum TensorComponent;

namespace {

struct Case {
  std::string_view name;
  TensorComponent component;
  std::optional<int> layer;
};

}  // namespace

TEST_CASE("Hugging Face names fall into the right component") {
  // Names as in the published checkpoints' index files; 61 decoder layers, so that layer 61 is MTP.
  const Case cases[] = {
      {"model.embed_tokens.weight", embedding, {}},
      {"lm_head.weight", lm_head, {}},
      {"model.norm.weight", vectors, {}},
      {"model.layers.0.self_attn.q_a_proj.weight", attention, 0},
      {"model.layers.0.self_attn.q_a_layernorm.weight", vectors, 0},
      {"model.layers.4.self_attn.kv_b_proj.weight_scale_inv", attention, 4},
      {"model.layers.4.self_attn.indexer.wq_b.weight", attention, 4},
      {"model.layers.0.mlp.gate_proj.weight", dense_ffn, 0},
      {"model.layers.3.mlp.gate.weight", router, 3},
      {"model.layers.3.mlp.gate.e_score_correction_bias", router, 3},
      {"model.layers.3.mlp.experts.255.down_proj.weight", routed_experts, 3},
      {"model.layers.3.mlp.shared_experts.up_proj.weight", shared_experts, 3},
      {"model.layers.61.mlp.experts.7.up_proj.weight", mtp, 61},
      {"model.layers.61.embed_tokens.weight", mtp, 61},
      {"mtp.layers.0.self_attn.q_proj.weight", mtp, {}},
      {"model.language_model.embed_tokens_per_layer.weight", per_layer_embedding, {}},
      // Mixtral, MiniMax
      {"model.layers.5.block_sparse_moe.gate.weight", router, 5},
      {"model.layers.5.block_sparse_moe.experts.3.w1.weight", routed_experts, 5},
      {"model.layers.5.block_sparse_moe.e_score_correction_bias", router, 5},
      // Qwen2-MoE, Qwen3-Next
      {"model.layers.5.mlp.shared_expert.gate_proj.weight", shared_experts, 5},
      {"model.layers.5.mlp.shared_expert_gate.weight", shared_experts, 5},
      {"model.layers.5.linear_attn.in_proj_qkvz.weight", attention, 5},
      {"model.layers.5.linear_attn.A_log", attention, 5},
      {"model.layers.5.linear_attn.norm.weight", vectors, 5},
      // gpt-oss
      {"model.layers.5.mlp.experts.gate_up_proj_blocks", routed_experts, 5},
      {"model.layers.5.mlp.router.weight", router, 5},
      {"model.layers.5.self_attn.sinks", attention, 5},
      // Llama 4
      {"language_model.model.layers.1.feed_forward.experts.gate_up_proj", routed_experts, 1},
      {"language_model.model.layers.1.feed_forward.shared_expert.up_proj.weight", shared_experts,
       1},
      {"language_model.model.layers.1.feed_forward.router.weight", router, 1},
      {"language_model.model.layers.0.feed_forward.down_proj.weight", dense_ffn, 0},
      {"vision_model.model.layers.3.self_attn.q_proj.weight", vision, {}},
      {"multi_modal_projector.linear_1.weight", vision, {}},
      {"model.visual.blocks.0.attn.qkv.weight", vision, {}},
      {"vision_tower.encoder.layers.0.mlp.fc1.weight", vision, {}},
      // Nemotron-H
      {"backbone.embeddings.weight", embedding, {}},
      {"backbone.norm_f.weight", vectors, {}},
      {"backbone.layers.0.mixer.in_proj.weight", attention, 0},
      {"backbone.layers.0.mixer.A_log", attention, 0},
      {"backbone.layers.1.mixer.up_proj.weight", dense_ffn, 1},
      {"backbone.layers.1.mixer.experts.9.up_proj.weight", routed_experts, 1},
      {"backbone.layers.1.mixer.shared_experts.up_proj.weight", shared_experts, 1},
      {"backbone.layers.1.mixer.gate.weight", router, 1},
      {"backbone.layers.7.mixer.q_proj.weight", attention, 7},
      // LFM2, Falcon, GPT-2, Mistral's own names
      {"model.layers.0.conv.in_proj.weight", attention, 0},
      {"model.layers.0.feed_forward.w1.weight", dense_ffn, 0},
      {"model.layers.0.feed_forward.gate.weight", router, 0},
      {"model.embedding_norm.weight", vectors, {}},
      {"transformer.h.2.self_attention.query_key_value.weight", attention, 2},
      {"transformer.h.2.mlp.dense_h_to_4h.weight", dense_ffn, 2},
      {"transformer.wte.weight", embedding, {}},
      {"layers.3.attention.wq.weight", attention, 3},
      {"tok_embeddings.weight", embedding, {}},
      {"output.weight", lm_head, {}},
  };
  for (const Case& expected : cases) {
    CAPTURE(expected.name);
    const TensorPlace place = place_hf_tensor(expected.name, 61);
    CHECK(tensor_component_name(place.component) == tensor_component_name(expected.component));
    CHECK(place.layer == expected.layer);
  }
}

TEST_CASE("GGUF names fall into the right component") {
  // Names from gguf-py constants.py, TENSOR_NAMES; 46 decoder layers.
  const Case cases[] = {
      {"token_embd.weight", embedding, {}},
      {"per_layer_token_embd.weight", per_layer_embedding, {}},
      {"token_embd_norm.weight", vectors, {}},
      {"output.weight", lm_head, {}},
      {"output_norm.weight", vectors, {}},
      {"rope_freqs.weight", other, {}},
      {"blk.3.attn_q.weight", attention, 3},
      {"blk.3.attn_qkv.weight", attention, 3},
      {"blk.3.attn_kv_a_mqa.weight", attention, 3},
      {"blk.3.attn_k_b.weight", attention, 3},
      {"blk.3.attn_sinks.weight", attention, 3},
      {"blk.3.attn_norm.weight", vectors, 3},
      {"blk.3.attn_q_a_norm.weight", vectors, 3},
      {"blk.3.post_attention_norm.weight", vectors, 3},
      {"blk.3.ssm_in.weight", attention, 3},
      {"blk.3.ssm_a", attention, 3},
      {"blk.3.ssm_norm.weight", vectors, 3},
      {"blk.3.shortconv.in_proj.weight", attention, 3},
      {"blk.3.inp_gate.weight", dense_ffn, 3},
      {"per_layer_model_proj.weight", dense_ffn, {}},
      {"blk.3.indexer.attn_q_b.weight", attention, 3},
      {"blk.3.ffn_gate.weight", dense_ffn, 3},
      {"blk.3.ffn_down.bias", dense_ffn, 3},
      {"blk.3.ffn_norm.weight", vectors, 3},
      {"blk.3.ffn_gate_inp.weight", router, 3},
      {"blk.3.exp_probs_b.bias", router, 3},
      {"blk.3.ffn_gate_exps.weight", routed_experts, 3},
      {"blk.3.ffn_gate_up_exps.weight", routed_experts, 3},
      {"blk.3.ffn_down.5.weight", routed_experts, 3},
      {"blk.3.ffn_up_shexp.weight", shared_experts, 3},
      {"blk.3.ffn_gate_inp_shexp.weight", shared_experts, 3},
      {"blk.46.ffn_gate_exps.weight", mtp, 46},
      {"blk.46.nextn.eh_proj.weight", mtp, 46},
      {"v.blk.0.attn_q.weight", vision, {}},
      {"mm.0.weight", vision, {}},
  };
  for (const Case& expected : cases) {
    CAPTURE(expected.name);
    const TensorPlace place = place_gguf_tensor(expected.name, 46);
    CHECK(tensor_component_name(place.component) == tensor_component_name(expected.component));
    CHECK(place.layer == expected.layer);
  }
}

TEST_CASE("names made to confuse do not crash and fall outside of layers") {
  for (const std::string_view name :
       {"", ".", "...", "blk", "blk.", "blk.x", "blk.-1.a", "blk.99999999999999999999.a",
        "model.layers.4096.x", "layers."})
    for (const PlaceTensor place : {place_gguf_tensor, place_hf_tensor}) {
      CAPTURE(name);
      CHECK_FALSE(place(name, 10).layer.has_value());
    }
}

TEST_CASE("a census adds up per component, layer and format") {
  const std::vector<StoredTensor> tensors = {{"token_embd.weight", "q4_K", 2, 256, 144},
                                             {"blk.0.attn_q.weight", "q4_K", 2, 256, 144},
                                             {"blk.1.attn_v.weight", "q6_K", 2, 256, 210},
                                             {"blk.1.attn_norm.weight", "fp32", 1, 8, 32},
                                             {"blk.1.attn_q.bias", "fp32", 1, 2, 8},
                                             {"blk.1.attn_q.scale", "fp32", 1, 1, 4},
                                             {"strange", "fp32", 2, 1, 4}};
  const TensorCensus census = take_census(tensors, place_gguf_tensor, 2);
  CHECK(census.bytes() == 144 + 144 + 210 + 32 + 8 + 4 + 4);
  CHECK(census.elements() == 780);
  CHECK(census.of(attention) == TensorTotals{3, 513, 358});
  REQUIRE(census.layers.size() == 2);
  CHECK(census.layers[1][static_cast<std::size_t>(attention)].bytes == 214);
  CHECK(census.layers[1][static_cast<std::size_t>(vectors)].bytes == 40);
  const auto& formats = census.formats[static_cast<std::size_t>(attention)];
  REQUIRE(formats.size() == 3);
  CHECK(formats[0] == std::pair<std::string, std::int64_t>{"q6_K", 210});
  CHECK(census.other_names == std::vector<std::string>{"strange"});
}
