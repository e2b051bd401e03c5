#include "model/architecture/gguf_architectures.hpp"

namespace roofcast {

const std::vector<GgufArchitecture>& gguf_architectures() {
  using enum GgufWindows;
  static const std::vector<GgufArchitecture> rows = {
      {.name = "afmoe", .windows = sliding, .cycle = 4},
      {.name = "apertus"},
      {.name = "arcee"},
      {.name = "arctic"},
      {.name = "baichuan"},
      {.name = "bailingmoe"},
      {.name = "bailingmoe2"},
      {.name = "bitnet"},
      {.name = "bloom"},
      {.name = "chameleon"},
      {.name = "chatglm"},
      {.name = "codeshell"},
      {.name = "cohere2", .windows = sliding, .cycle = 4},
      {.name = "command-r"},
      {.name = "dbrx"},
      {.name = "deci"},
      {.name = "deepseek"},
      {.name = "deepseek2"},
      {.name = "deepseek32"},
      {.name = "dots1"},
      {.name = "ernie4_5"},
      {.name = "ernie4_5-moe"},
      {.name = "exaone"},
      {.name = "exaone-moe", .windows = sliding, .cycle = 4},
      {.name = "exaone4",
       .windows = sliding,
       .cycle = 4,
       .default_window = 4096,
       .only_with_layers = 64},
      {.name = "falcon"},
      {.name = "gemma"},
      {.name = "gemma2", .windows = sliding, .cycle = 2, .default_window = 4096},
      {.name = "gemma3", .windows = sliding, .cycle = 6},
      {.name = "gemma3n", .windows = sliding, .cycle = 5, .own_kv_layers = 20},
      {.name = "gemma4", .windows = sliding},
      {.name = "glm-dsa"},
      {.name = "glm4"},
      {.name = "glm4moe"},
      {.name = "gpt-oss", .windows = sliding, .cycle = 2},
      {.name = "gpt2"},
      {.name = "gptneox"},
      {.name = "granite"},
      {.name = "granitehybrid"},
      {.name = "granitemoe"},
      {.name = "grok"},
      {.name = "hunyuan-dense"},
      {.name = "hunyuan-moe"},
      {.name = "internlm2"},
      {.name = "jais"},
      {.name = "jamba"},
      {.name = "kimi-linear"},
      {.name = "lfm2"},
      {.name = "lfm2moe"},
      {.name = "llama"},
      {.name = "llama4", .windows = chunked, .cycle = 4, .default_window = 8192},
      {.name = "mamba"},
      {.name = "mamba2"},
      {.name = "mimo2", .windows = sliding},
      {.name = "minicpm"},
      {.name = "minicpm3"},
      {.name = "minimax-m2"},
      {.name = "mistral3"},
      {.name = "mistral4"},
      {.name = "mpt"},
      {.name = "nemotron"},
      {.name = "nemotron_h"},
      {.name = "nemotron_h_moe"},
      {.name = "olmo"},
      {.name = "olmo2", .windows = sliding, .cycle = 4},
      {.name = "olmoe"},
      {.name = "openelm"},
      {.name = "orion"},
      {.name = "pangu-embedded"},
      {.name = "phi2"},
      {.name = "phi3"},  // llama.cpp keeps the whole context although the file names a window
      {.name = "phimoe"},
      {.name = "plm"},
      {.name = "qwen"},
      {.name = "qwen2"},
      {.name = "qwen2moe"},
      {.name = "qwen2vl"},
      {.name = "qwen3"},
      {.name = "qwen35"},
      {.name = "qwen35moe"},
      {.name = "qwen3moe"},
      {.name = "qwen3next"},
      {.name = "qwen3vl"},
      {.name = "qwen3vlmoe"},
      {.name = "refact"},
      {.name = "rnd1"},
      {.name = "seed_oss"},
      {.name = "smallthinker", .windows = sliding, .cycle = 4, .full_layer_first = true},
      {.name = "smollm3"},
      {.name = "stablelm"},
      {.name = "starcoder"},
      {.name = "starcoder2"},
      {.name = "step35", .windows = sliding},
      {.name = "xverse"},
  };
  return rows;
}

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
