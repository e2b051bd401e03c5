#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// How an engine decides which layers see a window only.
enum class GgufWindows {
  none,     // all layers see the whole context; a window in the file is not used
  sliding,  // by the file's list, else by `cycle`
  chunked,  // Llama 4: chunks of 8,192 tokens
};

/// What cannot be read from the file but is fixed in llama.cpp for an architecture. Everything else
/// comes from metadata and from the tensors that each block holds.
struct GgufArchitecture {
  std::string_view name;  // general.architecture
  GgufWindows windows = GgufWindows::none;
  int cycle = 0;  // one layer in so many sees everything, the last of each cycle; 0: only by list
  bool full_layer_first = false;    // the full layer is the first of the cycle
  std::int64_t default_window = 0;  // where the file gives none; 0: then there are no windows
  int only_with_layers = 0;         // windows only in the model with this many layers; 0: in all
  int own_kv_layers = 0;            // Gemma 3n: layers that store K and V; 0: all
};

/// Source of the rows: ggml-org/llama.cpp, the load_hparams part of each model
/// (src/llama-model.cpp, src/models/*.cpp).
std::span<const GgufArchitecture> gguf_architectures();

/// nullptr when llama.cpp's name is not among the rows.
const GgufArchitecture* find_gguf_architecture(std::string_view name);

std::vector<std::string> gguf_architecture_names();

}  // namespace roofcast
