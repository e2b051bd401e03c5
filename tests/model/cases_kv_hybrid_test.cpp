// KV sizes of models with windows, or with state instead of a cache in most layers, as people asked
// for them in public threads. Each case has the right value and the wrong answer that a tool gave.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/model/shipped_model.hpp"
#include "tests/relative.hpp"

using namespace roofcast;
using namespace roofcast::test;

namespace {

/// KV bytes of the layers whose mixer has this name.
double bytes_of_mixer(const ArchitectureSpec& spec, std::string_view name, double context) {
  double elements = 0.0;
  for (const LayerClass& c : spec.classes) {
    const NamedMixer& mixer = spec.mixers[static_cast<std::size_t>(c.layer.mixer)];
    if (mixer.name != name) continue;
    const CacheElements one =
        std::visit([&](const auto& kind) { return kind.cache(context); }, mixer.kind);
    elements += c.count * (one.k + one.v);
  }
  return elements * 2;
}

}  // namespace

TEST_CASE("Gemma 3 27B keeps 10.41 GiB at 131072 tokens: 52 of its 62 layers keep 1024") {
  // https://github.com/unslothai/unsloth/pull/4757: (10 x 131072 + 52 x 1024) x 2 x 16 x 128 x 2 B
  const double bytes = cache_bytes(shipped("gemma-3-27b"), 131072).kv.value;
  CHECK(bytes == (10.0 * 131072 + 52 * 1024) * 8192);
  CHECK(bytes / kGiB == relative(10.41).epsilon(0.001));
  const double wrong = 2.0 * 16 * (5376.0 / 32) * 62 * 131072 * 2;
  CHECK(wrong / kGiB == relative(81.38).epsilon(0.001));
  CHECK(wrong > 7.0 * bytes);
}

TEST_CASE("Gemma 4 12B keeps 1.23 GiB at 131072 tokens in q8_0") {
  // https://github.com/tmac1973/llama-toolchest/pull/58: 8 global layers of 1 head, 512 wide, and
  // 40 of 8 heads, 256 wide, that keep 1024 tokens; q8_0 takes 34 / 32 B an element.
  const double bytes = cache_bytes(with_cache_in(shipped("gemma-4-12b"), "q8_0"), 131072).kv.value;
  CHECK(bytes == (8.0 * 131072 * 2 * 512 + 40.0 * 1024 * 2 * 8 * 256) * 34 / 32);
  CHECK(bytes / kGiB == relative(1.23).epsilon(0.002));
  const double wrong = 48.0 * 131072 * 2 * 16 * 240 * 34 / 32;  // every layer, heads of 3840 / 16
  CHECK(wrong / kGiB == relative(47.8).epsilon(0.001));
  CHECK(wrong / bytes == relative(39).epsilon(0.01));
}

TEST_CASE("gpt-oss-20b keeps 3.00 GiB at 131072 tokens: half of its layers keep 128") {
  // https://github.com/gpustack/gguf-parser-go/issues/32: 12 x (131072 + 128) x 2 x 8 x 64 x 2 B
  const ArchitectureSpec spec = with_cache_in(shipped("gpt-oss-20b"), "fp16");
  CHECK(cache_bytes(spec, 131072).kv.value == 12.0 * (131072 + 128) * 2048);
  CHECK(cache_bytes(spec, 131072).kv.value / kGiB == relative(3.00).epsilon(0.002));
  CHECK(kv_bytes_per_token(spec).value * 131072 / kGiB == 6.0);  // the answer given
}

TEST_CASE("Gemma 3 1B keeps 139 MiB at 32768 tokens, not 832") {
  // https://github.com/lablup/mlxcel/pull/172: (4 x 32768 + 22 x 512) x 2 x 1 x 256 x 2 B
  const ArchitectureSpec spec = shipped("gemma-3-1b");
  CHECK(cache_bytes(spec, 32768).kv.value / kMiB == 139.0);
  CHECK(kv_bytes_per_token(spec).value * 32768 / kMiB == 832.0);
}

TEST_CASE("Gemma 3 27B: 10240 MiB are the global layers, and 624 the windows of llama.cpp") {
  // https://github.com/ggml-org/llama.cpp/pull/18720 compares the two as before and after. Windows
  // hold window + micro-batch = 1536 cells there: 52 x 1536 x 8192 B. In full they take 52 GiB.
  ArchitectureSpec spec = shipped("gemma-3-27b");
  CHECK(bytes_of_mixer(spec, "global", 131072) / kMiB == 10240.0);
  CHECK(bytes_of_mixer(spec, "local", 131072) / kMiB == 52 * 1024 * 8192 / kMiB);
  for (NamedMixer& mixer : spec.mixers)
    if (auto* local = std::get_if<SlidingWindowAttention>(&mixer.kind)) local->window = 1536;
  CHECK(bytes_of_mixer(spec, "local", 131072) / kMiB == 624.0);
  for (NamedMixer& mixer : spec.mixers)
    if (auto* local = std::get_if<SlidingWindowAttention>(&mixer.kind)) local->window = 131072;
  CHECK(bytes_of_mixer(spec, "local", 131072) / kGiB == 52.0);
}

TEST_CASE("LFM2 1.2B keeps 384 MiB at 32768 tokens in its six attention layers, not nothing") {
  // https://github.com/gpustack/gguf-parser-go/issues/31: 6 x 2 x 8 x 64 x 2 B = 12288 B a token;
  // the tool read the head count of layer 0 alone, which is 0.
  const ArchitectureSpec spec = shipped("lfm2-1.2b");
  CHECK(kv_bytes_per_token(spec).value == 12288.0);
  CHECK(cache_bytes(spec, 32768).kv.value / kMiB == 384.0);
  CHECK(spec.mixers[static_cast<std::size_t>(spec.layers[0].mixer)].name == "conv");
}

TEST_CASE("Qwen3.5 27B takes 65536 B a token: 16 of 64 layers have a cache") {
  // https://github.com/CambrianTech/continuum/pull/4156 (the same shape as Qwen3.8 27B):
  // 16 layers x 2 x 4 heads x 256 x 2 B; all 64 layers would take 262144
  const ArchitectureSpec spec = shipped("qwen3.5-27b");
  CHECK(kv_bytes_per_token(spec).value == 65536.0);
  CHECK(64.0 * 2 * 4 * 256 * 2 == 262144.0);
  // https://github.com/unslothai/unsloth/pull/4757: 16.00 GiB at 262144 tokens; 53.25 were given
  CHECK(cache_bytes(spec, 262144).kv.value / kGiB == 16.0);
  CHECK(2.0 * 4 * 213 * 64 * 262144 * 2 / kGiB == relative(53.25).epsilon(0.0005));
}

TEST_CASE("Qwen3.5 27B has 149.625 MiB of state beside its cache, whatever the context") {
  // https://github.com/unslothai/unsloth/pull/9525: 0.40, 2.61 and 16.15 GiB at 4096, 40223 and
  // 262144 tokens in f16. State in f32: 48 layers x (48 heads x 128 x 128 + 10240 channels x 3)
  // x 4.
  ArchitectureSpec spec = with_cache_in(shipped("qwen3.5-27b"), "fp16");
  spec.formats[Component::conv_state] = storage_of(*find_format("fp32"));
  const CacheBytes at_4k = cache_bytes(spec, 4096);
  CHECK(at_4k.state.value / kMiB == 149.625);
  CHECK(cache_bytes(spec, 262144).state.value == at_4k.state.value);
  const auto total = [](const ArchitectureSpec& s, double context) {
    const CacheBytes bytes = cache_bytes(s, context);
    return (bytes.kv + bytes.state).value / kGiB;
  };
  CHECK(total(spec, 4096) == relative(0.40).epsilon(0.012));
  CHECK(total(spec, 40223) == relative(2.61).epsilon(0.005));
  CHECK(total(spec, 262144) == relative(16.15).epsilon(0.001));
  // The row labelled q4_0 is 10.40: keys stayed f16. Both in q4_0 take 4.65.
  spec.formats[Component::v] = storage_of(*find_format("q4_0"));
  CHECK(total(spec, 262144) == relative(10.40).epsilon(0.001));
  CHECK(total(with_cache_in(spec, "q4_0"), 262144) == relative(4.65).epsilon(0.001));
}

TEST_CASE("Nemotron 3 Super has 16 KV heads in all of its 88 layers: 0.25 GiB at 32768 tokens") {
  // https://github.com/Osmantic/ODS/pull/5508: 8 attention layers x 2 x 2 x 128 x 2 B x 32768
  const ArchitectureSpec spec = shipped("nemotron-3-super-120b-a12b");
  CHECK(spec.layers.size() == 88);
  CHECK(cache_bytes(spec, 32768).kv.value / kGiB == 0.25);
  const double fallback = std::min(0.12 * 120.6, 3.5);  // "GB", from the parameter count
  CHECK(fallback > 13.0 * 0.25);
}
