#include "model/architecture/gguf_architectures.hpp"

#include <array>

namespace roofcast {
namespace {

constexpr std::array kArchitectures = {
    GgufArchitecture{.name = "afmoe", .windows = GgufWindows::sliding, .cycle = 4},
    GgufArchitecture{.name = "apertus"},
    GgufArchitecture{.name = "arcee"},
    GgufArchitecture{.name = "arctic"},
    GgufArchitecture{.name = "baichuan"},
    GgufArchitecture{.name = "bailingmoe"},
    GgufArchitecture{.name = "bailingmoe2"},
    GgufArchitecture{.name = "bitnet"},
    GgufArchitecture{.name = "bloom"},
    GgufArchitecture{.name = "chameleon"},
    GgufArchitecture{.name = "chatglm"},
    GgufArchitecture{.name = "codeshell"},
    GgufArchitecture{.name = "cohere2", .windows = GgufWindows::sliding, .cycle = 4},
    GgufArchitecture{.name = "command-r"},
    GgufArchitecture{.name = "dbrx"},
    GgufArchitecture{.name = "deci"},
    GgufArchitecture{.name = "deepseek"},
    GgufArchitecture{.name = "deepseek2"},
    GgufArchitecture{.name = "deepseek32"},
    GgufArchitecture{.name = "dots1"},
    GgufArchitecture{.name = "ernie4_5"},
    GgufArchitecture{.name = "ernie4_5-moe"},
    GgufArchitecture{.name = "exaone"},
    GgufArchitecture{.name = "exaone-moe", .windows = GgufWindows::sliding, .cycle = 4},
    GgufArchitecture{.name = "exaone4",
                     .windows = GgufWindows::sliding,
                     .cycle = 4,
                     .default_window = 4096,
                     .only_with_layers = 64},
    GgufArchitecture{.name = "falcon"},
    GgufArchitecture{.name = "gemma"},
    GgufArchitecture{
        .name = "gemma2", .windows = GgufWindows::sliding, .cycle = 2, .default_window = 4096},
    GgufArchitecture{.name = "gemma3", .windows = GgufWindows::sliding, .cycle = 6},
    GgufArchitecture{
        .name = "gemma3n", .windows = GgufWindows::sliding, .cycle = 5, .own_kv_layers = 20},
    GgufArchitecture{.name = "gemma4", .windows = GgufWindows::sliding},
    GgufArchitecture{.name = "glm-dsa"},
    GgufArchitecture{.name = "glm4"},
    GgufArchitecture{.name = "glm4moe"},
    GgufArchitecture{.name = "gpt-oss", .windows = GgufWindows::sliding, .cycle = 2},
    GgufArchitecture{.name = "gpt2"},
    GgufArchitecture{.name = "gptneox"},
    GgufArchitecture{.name = "granite"},
    GgufArchitecture{.name = "granitehybrid"},
    GgufArchitecture{.name = "granitemoe"},
    GgufArchitecture{.name = "grok"},
    GgufArchitecture{.name = "hunyuan-dense"},
    GgufArchitecture{.name = "hunyuan-moe"},
    GgufArchitecture{.name = "internlm2"},
    GgufArchitecture{.name = "jais"},
    GgufArchitecture{.name = "jamba"},
    GgufArchitecture{.name = "kimi-linear"},
    GgufArchitecture{.name = "lfm2"},
    GgufArchitecture{.name = "lfm2moe"},
    GgufArchitecture{.name = "llama"},
    GgufArchitecture{
        .name = "llama4", .windows = GgufWindows::chunked, .cycle = 4, .default_window = 8192},
    GgufArchitecture{.name = "mamba"},
    GgufArchitecture{.name = "mamba2"},
    GgufArchitecture{.name = "mimo2", .windows = GgufWindows::sliding},
    GgufArchitecture{.name = "minicpm"},
    GgufArchitecture{.name = "minicpm3"},
    GgufArchitecture{.name = "minimax-m2"},
    GgufArchitecture{.name = "mistral3"},
    GgufArchitecture{.name = "mistral4"},
    GgufArchitecture{.name = "mpt"},
    GgufArchitecture{.name = "nemotron"},
    GgufArchitecture{.name = "nemotron_h"},
    GgufArchitecture{.name = "nemotron_h_moe"},
    GgufArchitecture{.name = "olmo"},
    GgufArchitecture{.name = "olmo2", .windows = GgufWindows::sliding, .cycle = 4},
    GgufArchitecture{.name = "olmoe"},
    GgufArchitecture{.name = "openelm"},
    GgufArchitecture{.name = "orion"},
    GgufArchitecture{.name = "pangu-embedded"},
    GgufArchitecture{.name = "phi2"},
    GgufArchitecture{
        .name = "phi3"},  // llama.cpp keeps the whole context although the file names a window
    GgufArchitecture{.name = "phimoe"},
    GgufArchitecture{.name = "plm"},
    GgufArchitecture{.name = "qwen"},
    GgufArchitecture{.name = "qwen2"},
    GgufArchitecture{.name = "qwen2moe"},
    GgufArchitecture{.name = "qwen2vl"},
    GgufArchitecture{.name = "qwen3"},
    GgufArchitecture{.name = "qwen35"},
    GgufArchitecture{.name = "qwen35moe"},
    GgufArchitecture{.name = "qwen3moe"},
    GgufArchitecture{.name = "qwen3next"},
    GgufArchitecture{.name = "qwen3vl"},
    GgufArchitecture{.name = "qwen3vlmoe"},
    GgufArchitecture{.name = "refact"},
    GgufArchitecture{.name = "rnd1"},
    GgufArchitecture{.name = "seed_oss"},
    GgufArchitecture{.name = "smallthinker",
                     .windows = GgufWindows::sliding,
                     .cycle = 4,
                     .full_layer_first = true},
    GgufArchitecture{.name = "smollm3"},
    GgufArchitecture{.name = "stablelm"},
    GgufArchitecture{.name = "starcoder"},
    GgufArchitecture{.name = "starcoder2"},
    GgufArchitecture{.name = "step35", .windows = GgufWindows::sliding},
    GgufArchitecture{.name = "xverse"},
};

}  // namespace

std::span<const GgufArchitecture> gguf_architectures() { return kArchitectures; }

const GgufArchitecture* find_gguf_architecture(std::string_view name) {
  for (const GgufArchitecture& row : gguf_architectures())
    if (row.name == name) return &row;
  return nullptr;
}

std::vector<std::string> gguf_architecture_names() {
  std::vector<std::string> names;
  for (const GgufArchitecture& row : gguf_architectures()) names.emplace_back(row.name);
  return names;
}

}  // namespace roofcast
