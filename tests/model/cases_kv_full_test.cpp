// KV sizes of models whose every layer keeps the whole context, as people asked for them in public
// threads. Each case has the right value, its derivation, and the wrong answer that a tool gave.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/model/shipped_model.hpp"
#include "tests/relative.hpp"

using namespace roofcast;
using namespace roofcast::test;

TEST_CASE("Qwen3-0.6B keeps 4.38 GiB at 40960 tokens: its heads are 128 wide, not 1024 / 16") {
  // https://github.com/unslothai/unsloth/pull/4757: 28 layers x 2 x 8 heads x 128 x 2 B x 40960
  const double bytes = cache_bytes(shipped("qwen3-0.6b"), 40960).kv.value;
  CHECK(bytes == 28.0 * 2 * 8 * 128 * 2 * 40960);
  CHECK(bytes / kGiB == relative(4.375));
  const double derived_head_dim = 28.0 * 2 * 8 * (1024.0 / 16) * 2 * 40960;  // 2.19 GiB
  CHECK(derived_head_dim / kGiB == relative(2.19).epsilon(0.002));
  CHECK(bytes == 2.0 * derived_head_dim);
}

TEST_CASE("a head size derived from the hidden size is wrong in both directions") {
  // https://github.com/NVIDIA/Model-Optimizer/issues/2482
  const auto ratio = [](const char* model, double layers, double kv_heads, double derived) {
    return layers * 2 * kv_heads * derived * 2 / kv_bytes_per_token(shipped(model)).value;
  };
  // Mistral Small: 5120 / 32 = 160 against 128; gpt-oss-20b: 2880 / 64 = 45 against 64;
  // Gemma 3 12B: 3840 / 16 = 240 against 256.
  CHECK(ratio("mistral-small-24b", 40, 8, 160) == relative(1.25));
  CHECK(ratio("gpt-oss-20b", 24, 8, 45) == relative(45.0 / 64));
  CHECK(ratio("gemma-3-12b", 48, 8, 240) == relative(240.0 / 256));
}

TEST_CASE("Qwen3-4B takes 147456 B a token, not the 92160 of a public calculator") {
  // https://github.com/LMCache/LMCache/issues/688: 36 layers x 2 x 8 x 128 x 2 B; 2560 / 32 = 80
  CHECK(kv_bytes_per_token(shipped("qwen3-4b")).value == 147456.0);
  CHECK(36.0 * 2 * 8 * 80 * 2 == 92160.0);
}

TEST_CASE("query heads share KV heads: Llama 3 8B needs a fourth of what its 32 heads suggest") {
  // https://github.com/vllm-project/vllm/pull/29736: 32 query heads, 8 KV heads
  CHECK(kv_bytes_per_token(shipped("llama-3-8b")).value == 32.0 * 2 * 8 * 128 * 2);
  CHECK(32.0 * 2 * 32 * 128 * 2 == 4.0 * kv_bytes_per_token(shipped("llama-3-8b")).value);
}

TEST_CASE(
    "a 3000-token sequence of Llama 3 70B takes 0.98 GB, an eighth of the hidden-size guess") {
  // https://github.com/vllm-project/vllm/issues/8089: 80 layers x 2 x 8 x 128 x 2 B = 327680 B
  const double bytes = cache_bytes(shipped("llama-3-70b"), 3000).kv.value;
  CHECK(bytes == 327680.0 * 3000);
  CHECK(bytes == relative(0.983e9).epsilon(0.001));
  const double guess = 8192.0 * 80 * 2 * 2 * 3000;  // 7.86 GB
  CHECK(guess == 8.0 * bytes);
}

TEST_CASE("a formula that multiplies by the query heads again is 128 times too high") {
  // https://github.com/jranaraki/vllm-fit/issues/2: 2 x layers x n_heads x hidden x 4 bits, on
  // Llama 3 8B 32 times too much for the heads and 4 times for sharing
  const double right = 32.0 * 2 * 8 * 128 * 4 / 8;
  ArchitectureSpec spec = shipped("llama-3-8b");
  spec.formats[Component::k].bits = 4.0;
  spec.formats[Component::v].bits = 4.0;
  CHECK(kv_bytes_per_token(spec).value == right);
  CHECK(2.0 * 32 * 32 * 4096 * 4 / 8 == 128.0 * right);
}

TEST_CASE("one megabyte a token is right for Llama 2 13B alone, and only nearly") {
  // https://github.com/ray-project/llm-numbers/issues/25: 2 x 40 x 40 x 128 x 2 B = 0.78 MiB
  const double bytes = kv_bytes_per_token(shipped("llama-2-13b")).value;
  CHECK(bytes == 819200.0);
  CHECK(bytes / kMiB == relative(0.78125));
  CHECK(kv_bytes_per_token(shipped("llama-3-8b")).value < 0.2 * 1e6);
}

TEST_CASE("KV cache of 36 layers with 8 heads: 4.5 GiB at 32K, 36 GiB at 256K, whatever the size") {
  // https://github.com/Osmantic/ODS/issues/3324: 36 x 2 x 8 x 128 x 2 B = 147456 B a token
  CHECK(cache_bytes(shipped("qwen3-8b"), 32768).kv.value / kGiB == 4.5);
  CHECK(cache_bytes(shipped("qwen3-8b"), 262144).kv.value / kGiB == 36.0);
  CHECK(cache_bytes(shipped("qwen3-4b"), 32768).kv.value / kGiB == 4.5);
  const double from_parameters = std::min(std::max(0.12 * 8.2, 0.35), 3.5);  // "GB per 32K"
  CHECK(from_parameters < 0.25 * 4.5);
}

TEST_CASE("a KV cache guessed from the parameter count is off by 0.06 to 1.85") {
  // https://github.com/HenriGrimm/Minnow/pull/854: 0.000008 GiB x billions of parameters a token.
  // Qwen3-0.6B is counted there with its head apart: 0.752e9. 6459 / 114688 and 606000 / 327680.
  const auto guess = [](double billions) { return 8e-6 * billions * kGiB; };
  CHECK(guess(0.752) / kv_bytes_per_token(shipped("qwen3-0.6b")).value ==
        relative(0.06).epsilon(0.07));
  CHECK(guess(70.55) / kv_bytes_per_token(shipped("llama-3.3-70b")).value ==
        relative(1.85).epsilon(0.002));
}

TEST_CASE("one KV head, as many ranks as one likes: tensor parallelism adds no room") {
  // https://github.com/vllm-project/recipes/issues/762: tokens grew by eight data-parallel ranks
  // (8 x 20,571,235) and not by eight tensor-parallel ones (21,419,891): each holds the whole
  // cache.
  for (const char* model : {"falcon-7b", "deepseek-v3"}) {
    const ArchitectureSpec spec = shipped(model);
    CHECK(cache_bytes_per_rank(spec, 1000, 8).kv.value == cache_bytes(spec, 1000).kv.value);
  }
  const ArchitectureSpec llama = shipped("llama-3.1-8b");
  CHECK(cache_bytes_per_rank(llama, 1000, 8).kv.value * 8 == cache_bytes(llama, 1000).kv.value);
  CHECK(cache_bytes_per_rank(llama, 1000, 16).kv.value * 8 == cache_bytes(llama, 1000).kv.value);
}
