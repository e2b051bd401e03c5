// Sizes of latent caches (MLA), as people asked for them in public threads. Each case has the right
// value, its derivation, and the wrong answer that a tool gave.
#include <doctest/doctest.h>

#include "tests/model/shipped_model.hpp"
#include "tests/relative.hpp"

using namespace roofcast;
using namespace roofcast::test;

namespace {

/// Layers of a model, each with its mixer's own element counts at one token.
double latent_elements(const ArchitectureSpec& spec) {
  double elements = 0.0;
  for (const LayerClass& c : spec.classes)
    elements += c.count * std::visit([](const auto& kind) { return kind.cache(1.0).k; },
                                     spec.mixers[static_cast<std::size_t>(c.layer.mixer)].kind);
  return elements;
}

/// The model with its latents expanded to keys and values of all heads.
ArchitectureSpec expanded(ArchitectureSpec spec) {
  for (NamedMixer& mixer : spec.mixers)
    if (const auto* mla = std::get_if<MultiHeadLatentAttention>(&mixer.kind))
      mixer.kind = ExpandedLatentAttention{mla->shape};
  return spec;
}

}  // namespace

TEST_CASE("DeepSeek-V3.1 keeps 10.72 GiB at 163840 tokens") {
  // https://github.com/unslothai/unsloth/pull/4757: 61 layers x (512 + 64) x 2 B x 163840
  const double bytes = cache_bytes(shipped("deepseek-v3"), 163840).kv.value;
  CHECK(bytes == 61.0 * 576 * 2 * 163840);
  CHECK(bytes / kGiB == relative(10.72).epsilon(0.001));
  const double as_one_head = 2.0 * 1 * (7168.0 / 128) * 61 * 163840 * 2;
  CHECK(as_one_head / kGiB == relative(2.08).epsilon(0.005));
  CHECK(bytes > 5.0 * as_one_head);
}

TEST_CASE("Kimi K2 keeps 17.16 GiB at 262144 tokens") {
  // https://github.com/unslothai/unsloth/pull/4757: 61 layers x 576 x 2 B x 262144
  const double bytes = cache_bytes(shipped("kimi-k2"), 262144).kv.value;
  CHECK(bytes / kGiB == relative(17.16).epsilon(0.001));
  const double as_one_head = 2.0 * 1 * (7168.0 / 64) * 61 * 262144 * 2;  // 6.67 GiB
  CHECK(as_one_head / kGiB == relative(6.67).epsilon(0.001));
  CHECK(bytes > 2.0 * as_one_head);
}

TEST_CASE("GLM-5 keeps latents of 78 layers: its MTP block holds none in a plain decode") {
  // https://github.com/unslothai/unsloth/pull/4757: 16.97 GiB at 202752 tokens from 78 layers x 576
  // x 2 B; 17.18 counts the MTP block as a 79th layer.
  const double bytes = latent_elements(shipped("glm-5")) * 2 * 202752;
  CHECK(bytes / kGiB == relative(16.97).epsilon(0.001));
  CHECK(79.0 * 576 * 2 * 202752 / kGiB == relative(17.18).epsilon(0.001));
}

TEST_CASE("DeepSeek-V3 stores one latent a token for keys and values, with its rope part") {
  // https://github.com/LMCache/LMCache/pull/694: the fix there is 2 x 61 x 512 x 2 B
  const double bytes = kv_bytes_per_token(shipped("deepseek-v3")).value;
  CHECK(bytes == 70272.0);
  const double two_latents_without_rope = 2.0 * 61 * 512 * 2;  // 124928 B
  CHECK(two_latents_without_rope / bytes == relative(1.78).epsilon(0.002));
}

TEST_CASE("an engine that expands DeepSeek-V3's latents keeps 305 GiB where the latents are 4.29") {
  // https://github.com/gpustack/gguf-parser-go/issues/8, 65536 tokens, 16 bits:
  // 61 x 128 heads x (192 + 128) x 2 B = 4,997,120 B a token; 61 x 576 x 2 = 70,272 B
  const ArchitectureSpec latent = with_cache_in(shipped("deepseek-v3"), "fp16");
  CHECK(cache_bytes(latent, 65536).kv.value / kGiB == relative(4.29).epsilon(0.001));
  CHECK(cache_bytes(expanded(latent), 65536).kv.value / kGiB == relative(305.0).epsilon(0.0005));
  CHECK(kv_bytes_per_token(expanded(latent)).value == 4997120.0);
  ArchitectureSpec four_bits = latent;
  four_bits.formats[Component::k].bits = 4.0;
  CHECK(cache_bytes(four_bits, 65536).kv.value / kGiB == relative(1.07).epsilon(0.003));
  // The asker expected 17.875 MiB: one layer of 572 elements.
  const double one_layer = 572 * 0.5 * 65536;
  CHECK(one_layer / kMiB == 17.875);
  CHECK(cache_bytes(four_bits, 65536).kv.value > 61 * one_layer);
}

TEST_CASE("the expanded latents are grouped-query attention of 128 heads, 192 and 128 wide") {
  ArchitectureSpec as_heads = shipped("deepseek-v3");
  GroupedQueryAttention heads;
  heads.shape.n_heads = 128;
  heads.shape.n_kv_heads = 128;
  heads.shape.head_dim = 192;
  heads.shape.v_head_dim = 128;
  as_heads.mixers[0].kind = heads;
  CHECK(kv_bytes_per_token(as_heads).value == 61.0 * 128 * (192 + 128) * 2);
  CHECK(kv_bytes_per_token(as_heads).value ==
        kv_bytes_per_token(expanded(shipped("deepseek-v3"))).value);
}

TEST_CASE("Kimi K2 counted as grouped-query attention is 24.9 times too high, 6.2 at TP 4") {
  // https://github.com/ai-dynamo/aiconfigurator/pull/912: 2 x 64 heads x 112 against 576 elements;
  // heads split over four ranks, the latent does not.
  const ArchitectureSpec latent = shipped("kimi-k2");
  ArchitectureSpec as_heads = latent;
  GroupedQueryAttention heads;
  heads.shape.n_heads = 64;
  heads.shape.n_kv_heads = 64;
  heads.shape.head_dim = 7168 / 64;
  as_heads.mixers[0].kind = heads;
  const auto ratio = [&](int tp) {
    return cache_bytes_per_rank(as_heads, 4096, tp).kv.value /
           cache_bytes_per_rank(latent, 4096, tp).kv.value;
  };
  CHECK(ratio(1) == relative(24.9).epsilon(0.001));
  CHECK(ratio(4) == relative(6.22).epsilon(0.001));
}
