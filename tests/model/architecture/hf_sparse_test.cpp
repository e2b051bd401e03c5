#include <doctest/doctest.h>

#include <string>

#include "model/architecture/hf_config.hpp"
#include "model/base/error.hpp"

namespace {

using namespace roofcast;

/// Five layers of the kind of GLM-5.2; `extra` are further keys.
std::string glm(const std::string& extra) {
  return R"({"model_type": "glm_moe_dsa", "hidden_size": 6144, "vocab_size": 154880,
    "num_hidden_layers": 5, "num_attention_heads": 64, "num_key_value_heads": 64,
    "q_lora_rank": 2048, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64,
    "v_head_dim": 256, "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048,
    "intermediate_size": 12288, "first_k_dense_replace": 3, "n_routed_experts": 256,
    "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1,
    "tie_word_embeddings": false)" +
         extra + "}";
}

ImportedModel import_text(const std::string& text) {
  return import_hf_config(parse_json(text, "config.json"));
}

std::string refusal(const std::string& text) {
  try {
    import_text(text);
  } catch (const UnsupportedError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("layers that share an indexer keep no index keys") {
  const ArchitectureSpec own = import_text(glm("")).spec;
  // 576 x 2 B of latent and 132 B of index key in each of five layers.
  CHECK(kv_bytes_per_token(own).value == 5.0 * (1152.0 + 132.0));
  const ArchitectureSpec shared =
      import_text(glm(R"(, "indexer_types": ["full", "full", "full", "shared", "shared"],
                          "index_topk_freq": 4, "index_skip_topk_offset": 3)"))
          .spec;
  CHECK(kv_bytes_per_token(shared).value == 5.0 * 1152.0 + 3.0 * 132.0);
  // Two indexers fewer: 2048 x 32 x 128 + 6144 x (128 + 32) and a norm of twice 128 each.
  CHECK(count_parameters(own).total - count_parameters(shared).total ==
        2.0 * (8388608.0 + 983040.0 + 256.0));
}

TEST_CASE("indexers shared by a frequency alone are refused by name") {
  CHECK(refusal(glm(R"(, "index_topk_freq": 4)")).find("index_topk_freq") != std::string::npos);
  CHECK(refusal(glm(R"(, "index_topk_freq": 1)")).empty());
  CHECK(refusal(glm(R"(, "indexer_types": ["shared", "full", "full", "full", "full"])"))
            .find("indexer_types") != std::string::npos);
}
