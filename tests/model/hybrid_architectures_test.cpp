#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "model/architecture/architecture_spec.hpp"
#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/embedded_architectures.hpp"
#include "model/operators/decode_step.hpp"

namespace {

using namespace roofcast;

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kGiB = 1024.0 * kMiB;

ArchitectureSpec shipped(std::string_view name) {
  const std::string file = std::string(name) + ".yaml";
  const auto& all = embedded_architectures();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const EmbeddedFile& f) { return f.name == file; });
  CAPTURE(file);
  REQUIRE(found != all.end());
  return read_architecture(parse_yaml(found->text, file));
}

/// What one sequence keeps, by hand from the publishers' configurations. Formats as shipped: 16
/// bits, recurrent state in fp32, fp8 index keys of 132 B where the model's engines store such.
struct Kept {
  std::string_view model;
  double kv_per_token;  // while no window is full, for `compressed` the mean over entries
  double state;
};

constexpr std::array kKept = {
    // 12 of 48 layers: 2 x 2 KV heads x 256 x 2 B. 36 layers: 32 x 128 x 128 x 4 B and
    // 3 x (2 x 2048 + 4096) x 2 B.
    Kept{"qwen3-next-80b-a3b", 24576, 36.0 * (2097152 + 49152)},
    // 16 of 64 layers: 2 x 4 x 256 x 2 B. 48 layers: 48 x 128 x 128 x 4 B and
    // 3 x (2 x 2048 + 6144) x 2 B.
    Kept{"qwen3.5-27b", 65536, 48.0 * (3145728 + 61440)},
    // 10 of 40 layers: 2 x 2 x 256 x 2 B. 30 layers as in Qwen3-Next.
    Kept{"qwen3.5-35b-a3b", 20480, 30.0 * (2097152 + 49152)},
    // 12 of 48 layers: 2 x 2 x 256 x 2 B. 36 layers: 64 x 128 x 128 x 4 B and
    // 3 x (2 x 2048 + 8192) x 2 B.
    Kept{"qwen3.5-122b-a10b", 24576, 36.0 * (4194304 + 73728)},
    // 15 of 60 layers: 2 x 2 x 256 x 2 B. 45 layers as in the 122B.
    Kept{"qwen3.5-397b-a17b", 30720, 45.0 * (4194304 + 73728)},
    // 61 layers: 576 x 2 B of latent and 132 B of index key.
    Kept{"deepseek-v3.2", 61.0 * (1152 + 132), 0},
    // 78 layers, the same.
    Kept{"glm-5", 78.0 * (1152 + 132), 0},
    // The same; 21 of 78 layers have an indexer (0, 1, 2 and every fourth from 6).
    Kept{"glm-5.2", 78.0 * 1152 + 21.0 * 132, 0},
    // 31 layers with a 128th and 30 with a fourth of a vector of 512 x 2 B beside the window's; 132
    // B
    // of index key per 4 tokens. State in fp32: 2 x 128 x 512 elements; 2 x 8 x 1024 and 2 x 8 x
    // 256.
    Kept{"deepseek-v4-pro", 61.0 * 1024 + 31.0 * 8 + 30.0 * (256 + 33),
         4.0 * (31.0 * 131072 + 30.0 * 20480)},
    // 2 layers with the window alone, 20 with ratio 128 and 21 with ratio 4.
    Kept{"deepseek-v4-flash", 43.0 * 1024 + 20.0 * 8 + 21.0 * (256 + 33),
         4.0 * (20.0 * 131072 + 21.0 * 20480)},
    // 60 layers: 2 x 4 x 128 x 2 B; 57 with an index key of 128 x 2 B.
    Kept{"minimax-m3", 60.0 * 2048 + 57.0 * 256, 0},
    // 10 of 80 layers: 2 x 8 x 128 x 2 B. 70 layers: 64 x 128 x 128 x 4 B.
    Kept{"minimax-text-01", 40960, 70.0 * 4194304},
    // 7 of 27 layers: 576 x 2 B. 20 layers: 32 x 128 x 128 x 4 B and 3 x 3 x 4096 x 2 B.
    Kept{"kimi-linear-48b-a3b", 8064, 20.0 * (2097152 + 73728)},
    // 24 of 93 layers: 576 x 2 B. 69 layers: 96 x 128 x 128 x 4 B and 3 x 3 x 12288 x 2 B.
    Kept{"kimi-k3", 27648, 69.0 * (6291456 + 221184)},
    // 4 attention layers: 2 x 8 x 128 x 2 B. 24 Mamba-2 layers: 128 x 64 x 128 x 4 B and
    // 3 x (8192 + 2 x 8 x 128) x 2 B.
    Kept{"nemotron-h-8b", 16384, 24.0 * (4194304 + 61440)},
    // 10 attention layers. 54 Mamba-2 layers: 256 x 64 x 256 x 4 B and 3 x (16384 + 4096) x 2 B.
    Kept{"nemotron-h-56b", 40960, 54.0 * (16777216 + 122880)},
    // 6 attention layers: 2 x 2 x 128 x 2 B. 23 Mamba-2 layers: 64 x 64 x 128 x 4 B and
    // 3 x 6144 x 2 B.
    Kept{"nemotron-3-nano-30b-a3b", 6144, 23.0 * (2097152 + 36864)},
    // 8 attention layers: 2 x 2 x 128 x 2 B. 40 Mamba-2 layers as in Nemotron-H 8B.
    Kept{"nemotron-3-super-120b-a12b", 8192, 40.0 * (4194304 + 61440)},
    // 6 attention layers: 2 x 8 x 64 x 2 B. 10 convolutions: 2 x 2048 x 2 B.
    Kept{"lfm2-1.2b", 12288, 10.0 * 8192},
    // 6 attention layers, 18 convolutions.
    Kept{"lfm2-8b-a1b", 12288, 18.0 * 8192},
    // 4 attention layers: 2 x 8 x 128 x 2 B. 28 Mamba layers: 8192 x 16 x 4 B and 3 x 8192 x 2 B.
    Kept{"jamba-1.5-mini", 16384, 28.0 * (524288 + 49152)},
    Kept{"falcon-mamba-7b", 0, 64.0 * (524288 + 49152)},
};

bool has_state_or_sparsity(const ArchitectureSpec& spec) {
  constexpr std::array<std::string_view, 6> kPlain = {"gqa", "sliding_window", "chunked",
                                                      "mla", "mla_expanded",   "none"};
  return std::any_of(spec.mixers.begin(), spec.mixers.end(), [&](const NamedMixer& mixer) {
    return std::find(kPlain.begin(), kPlain.end(), kind_name(mixer.kind)) == kPlain.end();
  });
}

Formats sixteen_bits_throughout() {
  Formats formats;
  for (Storage& storage : formats.components) storage = storage_of(*find_format("bf16"));
  return formats;
}

}  // namespace

TEST_CASE("hybrid and sparse models keep the bytes that their configurations say") {
  for (const Kept& row : kKept) {
    CAPTURE(row.model);
    const ArchitectureSpec spec = shipped(row.model);
    CHECK(kv_bytes_per_token(spec).value == row.kv_per_token);
    CHECK(cache_bytes(spec, 1.0).state.value == row.state);
    CHECK(cache_bytes(spec, 262144.0).state.value == row.state);
  }
}

TEST_CASE("every shipped hybrid or sparse model is in the table of kept bytes") {
  for (const EmbeddedFile& file : embedded_architectures()) {
    const ArchitectureSpec spec = read_architecture(parse_yaml(file.text, std::string(file.name)));
    if (!has_state_or_sparsity(spec)) continue;
    CAPTURE(spec.name);
    CHECK(std::any_of(kKept.begin(), kKept.end(),
                      [&](const Kept& row) { return row.model == spec.name; }));
  }
}

// github.com/unslothai/unsloth pull 9525: llama.cpp reports 0.40, 2.61 and 16.15 GiB at these
// contexts, 65,536 B per token and 149.625 MiB: it keeps both states of a layer in fp32.
TEST_CASE("fixed state and slope of Qwen3.5 27B are those that llama.cpp logs") {
  ArchitectureSpec spec = shipped("qwen3.5-27b");
  spec.formats[Component::conv_state] = storage_of(*find_format("fp32"));
  CHECK(cache_bytes(spec, 1.0).state.value == 149.625 * kMiB);
  const auto kept_gib = [&](double context) {
    const CacheBytes kept = cache_bytes(spec, context);
    return (kept.kv + kept.state).value / kGiB;
  };
  CHECK(std::abs(kept_gib(4096.0) - 0.40) < 0.005);
  CHECK(std::abs(kept_gib(40223.0) - 2.61) < 0.0101);
  CHECK(std::abs(kept_gib(262144.0) - 16.15) < 0.005);
}

// github.com/unslothai/unsloth pull 4757 and github.com/CambrianTech/continuum pull 4156.
TEST_CASE("only the attention layers of a hybrid model grow with context") {
  CHECK(cache_bytes(shipped("qwen3.5-27b"), 262144.0).kv.value == 16.0 * kGiB);
}

// github.com/unslothai/unsloth pull 4757: 17.18 GiB there count the MTP block as a layer.
TEST_CASE("the latent of GLM-5 counts 78 layers, not its MTP block") {
  ArchitectureSpec spec = shipped("glm-5");
  const double latent = 78.0 * 576.0 * 2.0 * 202752.0;
  const double index_keys = 78.0 * 132.0 * 202752.0;
  CHECK(std::abs(latent / kGiB - 16.97) < 0.005);
  CHECK(cache_bytes(spec, 202752.0).kv.value == latent + index_keys);
}

// github.com/gpustack/gguf-parser-go issue 31: reading only the first layer's heads gives 0.
TEST_CASE("the six attention layers of LFM2 1.2B keep 384 MiB at 32768 tokens") {
  CHECK(cache_bytes(shipped("lfm2-1.2b"), 32768.0).kv.value == 384.0 * kMiB);
}

// github.com/Osmantic/ODS pull 5508: 88 layers but 16 KV heads in all.
TEST_CASE("Nemotron 3 Super keeps a quarter of a GiB at 32768 tokens") {
  CHECK(cache_bytes(shipped("nemotron-3-super-120b-a12b"), 32768.0).kv.value == 0.25 * kGiB);
}

// Published with the release (news.triggerhive.com, 2026-04-25): 9.62 GiB per sequence of a million
// tokens in 16 bits, 8.7 times less than DeepSeek-V3.2.
TEST_CASE("a million tokens of DeepSeek-V4-Pro take the published 9.62 GiB") {
  ArchitectureSpec v4 = shipped("deepseek-v4-pro");
  ArchitectureSpec v32 = shipped("deepseek-v3.2");
  v4.formats = sixteen_bits_throughout();
  v32.formats = sixteen_bits_throughout();
  const double kept = cache_bytes(v4, 1048576.0).kv.value;
  CHECK(std::abs(kept / kGiB - 9.62) < 0.005);
  CHECK(std::abs(cache_bytes(v32, 1048576.0).kv.value / kept - 8.7) < 0.05);
}

TEST_CASE("tensor parallelism splits each part of a hybrid cache by its own rule") {
  // 2 KV heads, 16 key heads of the linear layers.
  const ArchitectureSpec qwen = shipped("qwen3.5-397b-a17b");
  const CacheBytes whole = cache_bytes(qwen, 1000.0);
  const CacheBytes rank = cache_bytes_per_rank(qwen, 1000.0, 8);
  CHECK(rank.kv.value == whole.kv.value / 2.0);
  CHECK(rank.state.value == whole.state.value / 8.0);
  // 4 KV heads; the index key of 57 layers stays whole.
  const ArchitectureSpec minimax = shipped("minimax-m3");
  CHECK(cache_bytes_per_rank(minimax, 1000.0, 8).kv.value ==
        1000.0 * (60.0 * 2048.0 / 4.0 + 57.0 * 256.0));
  const ArchitectureSpec deepseek = shipped("deepseek-v3.2");
  CHECK(cache_bytes_per_rank(deepseek, 1000.0, 8).kv.value ==
        cache_bytes(deepseek, 1000.0).kv.value);
}

TEST_CASE("a decode step reads and writes the state of every sequence, at any context") {
  for (const Kept& row : kKept) {
    const ArchitectureSpec spec = shipped(row.model);
    // The pooling of compressed attention touches rows of its state, not all of it.
    if (row.model.starts_with("deepseek")) continue;
    CAPTURE(row.model);
    for (const double context : {0.0, 100000.0}) {
      const StepWork work = total_work(decode_step(spec, {.sequences = 7.0, .context = context}));
      CHECK(work.bytes.state.value == 2.0 * 7.0 * row.state);
    }
  }
}

TEST_CASE("a decode step of one token reads the active parameters of a hybrid model once") {
  for (const Kept& row : kKept) {
    CAPTURE(row.model);
    ArchitectureSpec spec = shipped(row.model);
    spec.formats = sixteen_bits_throughout();
    const double active = count_parameters(spec).active;
    // Beside them, one row of the embedding table.
    const double expected = 2.0 * (active + static_cast<double>(spec.hidden_dim));
    const double read = weight_bytes(spec).read_per_step_batch1.value;
    // Hyper-connections are fp32 in any checkpoint: 0.2 % of the active parameters twice.
    CHECK(std::abs(read - expected) < (spec.hyper_streams > 0 ? 5e-3 : 1e-6) * expected);
  }
}
