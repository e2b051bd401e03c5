#include "model/reference/checkpoint/hf_semantics.hpp"

#include <doctest/doctest.h>

#include <string>

#include "model/base/error.hpp"
#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

ModelSemantics semantics_of(const std::string& json) {
  return read_semantics(parse_json(json, "config.json"));
}

TEST_CASE("a config that says nothing has the defaults of its class") {
  const ModelSemantics llama = semantics_of(R"({"model_type": "llama"})");
  CHECK(llama.rotary == RotarySemantics{10000.0, 1.0});
  CHECK_FALSE(llama.local_rotary);
  CHECK(llama.norm_epsilon == 1e-6F);
  CHECK_FALSE(llama.activation);
  const ModelSemantics gemma =
      semantics_of(R"({"model_type": "gemma3_text", "hidden_size": 1152})");
  CHECK(gemma.rotary.theta == 1e6);
  CHECK(gemma.local_rotary->theta == 1e4);
  CHECK(gemma.norm_offset == 1.0F);
  // sqrt(1152) and 1 / sqrt(256)
  CHECK(static_cast<double>(gemma.embedding_scale) == relative(33.941125).epsilon(1e-6));
  CHECK(gemma.query_scale == 0.0625F);
  CHECK(semantics_of(R"({"model_type": "gpt_oss"})").activation == Activation::clamped_swiglu);
}

TEST_CASE("rotary parameters are read in their old and their new form") {
  const ModelSemantics old_form = semantics_of(
      R"({"model_type": "gemma3_text", "hidden_size": 4, "rope_theta": 5e5,
          "rope_local_base_freq": 2e4})");
  const ModelSemantics new_form = semantics_of(
      R"({"model_type": "gemma3_text", "hidden_size": 4, "rope_parameters": {
          "full_attention": {"rope_type": "default", "rope_theta": 5e5},
          "sliding_attention": {"rope_type": "default", "rope_theta": 2e4}}})");
  for (const ModelSemantics& semantics : {old_form, new_form}) {
    CHECK(semantics.rotary.theta == 5e5);
    CHECK(semantics.local_rotary->theta == 2e4);
  }
  const ModelSemantics one = semantics_of(
      R"({"model_type": "gpt_oss",
          "rope_parameters": {"rope_theta": 7.0, "partial_rotary_factor": 0.5}})");
  CHECK(one.rotary == RotarySemantics{7.0, 0.5});
  CHECK_FALSE(one.local_rotary);
}

TEST_CASE("a router's rules are read") {
  CHECK_FALSE(semantics_of(R"({"model_type": "qwen3_moe"})").router.normalize);
  CHECK(semantics_of(R"({"model_type": "qwen3_moe", "norm_topk_prob": true})").router.normalize);
  CHECK(semantics_of(R"({"model_type": "mixtral"})").router == RouterSemantics{});
}

TEST_CASE("sigmoid routers have their class's groups and scale, or the config's") {
  const RouterSemantics deepseek = semantics_of(R"({"model_type": "deepseek_v3"})").router;
  CHECK(deepseek.scoring == RouterSemantics::Scoring::sigmoid);
  CHECK(deepseek.bias_only_chooses);
  CHECK(deepseek.groups == 8);
  CHECK(deepseek.groups_per_token == 4);
  CHECK(deepseek.scale == 2.5F);
  const RouterSemantics nemotron =
      semantics_of(
          R"({"model_type": "nemotron_h", "routed_scaling_factor": 1.5, "norm_topk_prob": false})")
          .router;
  CHECK(nemotron.groups == 1);
  CHECK(nemotron.scale == 1.5F);
  CHECK_FALSE(nemotron.normalize);
}

TEST_CASE("hybrid models turn part of a head, or nothing") {
  const ModelSemantics next = semantics_of(R"({"model_type": "qwen3_next"})");
  CHECK(next.rotary.share == 0.25);
  CHECK(next.norm_offset == 1.0F);
  CHECK(next.router.normalize);
  const ModelSemantics nemotron = semantics_of(R"({"model_type": "nemotron_h"})");
  CHECK(nemotron.rotary.share == 0.0);
  CHECK(nemotron.activation == Activation::relu_squared);
}

std::string refusal(const std::string& json) {
  try {
    semantics_of(json);
  } catch (const UnsupportedError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("what the engine does not compute is refused by its key") {
  CHECK(refusal(R"({"model_type": "llama", "rope_scaling": {"rope_type": "yarn"}})")
            .find("rope_scaling.rope_type") != std::string::npos);
  CHECK(refusal(R"({"model_type": "llama", "hidden_act": "tanh"})").find("hidden_act") !=
        std::string::npos);
  CHECK(refusal(R"({"model_type": "gemma3_text", "hidden_size": 4, "attn_logit_softcapping": 50})")
            .find("attn_logit_softcapping") != std::string::npos);
  CHECK(
      refusal(R"({"model_type": "deepseek_v3", "scoring_func": "softmax"})").find("scoring_func") !=
      std::string::npos);
  CHECK(refusal(R"({"model_type": "deepseek_v3", "rope_interleave": false})")
            .find("rope_interleave") != std::string::npos);
  CHECK(refusal(R"({"model_type": "opt"})").find("\"opt\"") != std::string::npos);
  CHECK_THROWS_AS(semantics_of(R"({"model_type": "llama", "rope_theta": -1})"), SpecError);
  CHECK_THROWS_AS(semantics_of("{}"), SpecError);
}

}  // namespace
}  // namespace roofcast
