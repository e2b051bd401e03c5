#include "model/architecture/architecture_yaml.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

using namespace roofcast;

ArchitectureSpec read(const std::string& text) {
  return read_architecture(parse_yaml(text, "x.yaml"));
}

const std::string kSmall =
    "schema: 1\n"
    "name: small\n"
    "hidden_dim: 64\n"
    "vocab_size: 1000\n"
    "attention:\n"
    "  local: {kind: sliding_window, n_heads: 4, n_kv_heads: 2, head_dim: 16, window: 128}\n"
    "  global: {kind: gqa, n_heads: 4, n_kv_heads: 1, head_dim: 32, qk_norm: head}\n"
    "ffn:\n"
    "  dense: {kind: dense, ffn_dim: 128, form: plain, bias: true}\n"
    "  moe: {kind: moe, n_experts: 8, n_experts_per_token: 2, expert_dim: 32}\n";

const std::string kTwoLayers = "layers: [{count: 2, attention: global, ffn: dense}]\n";

}  // namespace

TEST_CASE("layers are runs and cycles of named kinds") {
  const ArchitectureSpec spec =
      read(kSmall +
           "layers:\n"
           "  - {count: 1, attention: global, ffn: dense}\n"
           "  - {repeat: 2, pattern: [{count: 2, attention: local, ffn: moe}, {repeat: 1, pattern: "
           "[{count: 1, attention: global, ffn: moe}]}]}\n");
  REQUIRE(spec.layers.size() == 7);
  const std::vector<Layer> expected = {{1, 0}, {0, 1}, {0, 1}, {1, 1}, {0, 1}, {0, 1}, {1, 1}};
  CHECK(spec.layers == expected);
  REQUIRE(spec.classes.size() == 3);
  CHECK(spec.classes[0].count == 1);
  CHECK(spec.classes[1].count == 4);
  CHECK(spec.classes[2].count == 2);
}

TEST_CASE("what a spec leaves out takes the stated default") {
  const ArchitectureSpec spec = read(kSmall + kTwoLayers);
  CHECK(spec.title.empty());
  CHECK_FALSE(spec.published.has_value());
  CHECK_FALSE(spec.tied_embeddings);
  CHECK(spec.max_context == 0);
  CHECK(spec.norm == NormKind::rms);
  CHECK(spec.block_order == BlockOrder::serial);
  CHECK(spec.norms_per_block == 1);
  CHECK(spec.mtp_layers == 0);
  CHECK(spec.formats == Formats{});
  CHECK(spec.formats[Component::attention].format.name() == "bf16");
  CHECK(spec.formats[Component::state].format.name() == "fp32");
}

TEST_CASE("formats: one word for all linear weights, one for the cache, single ones win") {
  const ArchitectureSpec spec =
      read(kSmall + kTwoLayers +
           "formats: {routed_experts: mxfp4, weights: fp8_block128, kv: fp8_e4m3, v: q4_0,\n"
           "          dense_ffn: {format: q4_K, bits: 4.85}}\n");
  const auto name = [&](Component c) { return spec.formats[c].format.name(); };
  CHECK(name(Component::attention) == "fp8_block128");
  CHECK(name(Component::shared_experts) == "fp8_block128");
  CHECK(name(Component::routed_experts) == "mxfp4");
  CHECK(name(Component::k) == "fp8_e4m3");
  CHECK(name(Component::v) == "q4_0");
  CHECK(spec.formats[Component::dense_ffn].bits == 4.85);
  CHECK(name(Component::router) == "bf16");
  CHECK(name(Component::lm_head) == "bf16");
  CHECK(name(Component::embedding) == "bf16");
}

TEST_CASE("a published count says what it covers") {
  const ArchitectureSpec spec =
      read(kSmall + kTwoLayers +
           "published: {total_params: 1e9, active_params: 2e8, active_includes_embedding: true,\n"
           "            counts_embeddings: false, counts_resident: false, counts_mtp: true,\n"
           "            source: card}\n");
  REQUIRE(spec.published.has_value());
  CHECK(*spec.published->active_params == 2e8);
  CHECK(spec.published->active_includes_embedding);
  CHECK_FALSE(spec.published->counts_embeddings);
  CHECK_FALSE(spec.published->counts_resident);
  CHECK(spec.published->counts_mtp);
}

TEST_CASE("a spec with everything in it is written and read again unchanged") {
  const ArchitectureSpec spec = read(
      kSmall +
      "title: 'Quotes \" and \\ and: colons'\n"
      "source: https://example.org\n"
      "published: {total_params: 1.5e9, active_params: 2e8, counts_mtp: true, source: \"a, b\"}\n"
      "tied_embeddings: true\n"
      "max_context: 4096\n"
      "norm: layer_no_bias\n"
      "block_order: parallel_two_norms\n"
      "norms_per_block: 2\n"
      "position_embeddings: 2050\n"
      "lm_head_bias: true\n"
      "mtp_layers: 2\n"
      "per_layer_embedding: {vocab_size: 1000, dim: 8}\n"
      "resident: [{name: vision tower, params: 417000001}]\n"
      "formats: {weights: q4_K, dense_ffn: {format: q4_K, bits: 4.848}, kv: fp8_e4m3}\n"
      "layers:\n"
      "  - {count: 1, attention: global, ffn: dense}\n"
      "  - {repeat: 5, pattern: [{count: 2, attention: local, ffn: moe}, {count: 1, attention: "
      "global, ffn: dense}]}\n"
      "  - {count: 1, attention: local, ffn: moe}\n");
  CHECK(read(write_architecture_yaml(spec)) == spec);
}

TEST_CASE("a kind that the program does not represent is refused as unsupported") {
  CHECK_THROWS_AS(read("schema: 1\nname: x\nhidden_dim: 8\nvocab_size: 8\nattention: {a: {kind: "
                       "retention}}\n"),
                  UnsupportedError);
}

TEST_CASE("named kinds beyond the number of layers are refused before any is read") {
  const auto text = [](int n, const std::string& used) {
    std::string out = "schema: 1\nname: x\nhidden_dim: 8\nvocab_size: 8\nattention:\n";
    for (int i = 0; i < n; ++i) out += "  g" + std::to_string(i) + ": {kind: none}\n";
    return out + "ffn: {d: {kind: none}}\nlayers: [{count: 1, attention: " + used + ", ffn: d}]\n";
  };
  const auto message = [&](int n, const std::string& used) -> std::string {
    try {
      read(text(n, used));
    } catch (const SpecError& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK(message(4096, "g4095") == "no error");
  CHECK(message(4097, "g0") ==
        "x.yaml:6:3: attention: expected at most 4096 named kinds, as many as layers, got 4097");
  const std::string cut = message(4096, "g5000");
  CHECK(cut.find("expected one of g0, g1, g2, g3, g4, g5, g6, g7, g8, g9, g10, g11, ... (4096 in "
                 "all), got \"g5000\"") != std::string::npos);
}
