#pragma once

#include <array>
#include <string_view>

namespace roofcast {

struct KvBytes {
  std::string_view model;
  double bytes;
};

/// KV bytes that one token adds while no window is full, worked out by hand from the publishers'
/// configurations. Formats as shipped: 16 bits.
inline constexpr std::array kKvBytesTable = {
    // 2 x 32 layers x 32 KV heads x 128 x 2 B
    KvBytes{"llama-2-7b", 524288},
    // 2 x 40 layers x 40 KV heads x 128 x 2 B
    KvBytes{"llama-2-13b", 819200},
    // 2 x 80 layers x 8 KV heads x 128 x 2 B
    KvBytes{"llama-2-70b", 327680},
    // 2 x 32 layers x 8 KV heads x 128 x 2 B
    KvBytes{"llama-3-8b", 131072},
    // 2 x 80 layers x 8 KV heads x 128 x 2 B
    KvBytes{"llama-3-70b", 327680},
    // 2 x 32 layers x 8 KV heads x 128 x 2 B
    KvBytes{"llama-3.1-8b", 131072},
    // 2 x 80 layers x 8 KV heads x 128 x 2 B
    KvBytes{"llama-3.1-70b", 327680},
    // 2 x 126 layers x 8 KV heads x 128 x 2 B
    KvBytes{"llama-3.1-405b", 516096},
    // 2 x 16 layers x 8 KV heads x 64 x 2 B
    KvBytes{"llama-3.2-1b", 32768},
    // 2 x 28 layers x 8 KV heads x 128 x 2 B
    KvBytes{"llama-3.2-3b", 114688},
    // 2 x 80 layers x 8 KV heads x 128 x 2 B
    KvBytes{"llama-3.3-70b", 327680},
    // 2 x 32 layers x 8 KV heads x 128 x 2 B
    KvBytes{"mistral-7b-v0.1", 131072},
    // 2 x 32 layers x 8 KV heads x 128 x 2 B
    KvBytes{"mistral-7b-v0.3", 131072},
    // 2 x 40 layers x 8 KV heads x 128 x 2 B
    KvBytes{"mistral-small-24b", 163840},
    // 2 x 88 layers x 8 KV heads x 128 x 2 B
    KvBytes{"mistral-large-123b", 360448},
    // 2 x 32 layers x 8 KV heads x 128 x 2 B
    KvBytes{"mixtral-8x7b", 131072},
    // 2 x 56 layers x 8 KV heads x 128 x 2 B
    KvBytes{"mixtral-8x22b", 229376},
    // 2 x 24 layers x 2 KV heads x 64 x 2 B
    KvBytes{"qwen2.5-0.5b", 12288},
    // 2 x 28 layers x 2 KV heads x 128 x 2 B
    KvBytes{"qwen2.5-1.5b", 28672},
    // 2 x 28 layers x 4 KV heads x 128 x 2 B
    KvBytes{"qwen2.5-7b", 57344},
    // 2 x 48 layers x 8 KV heads x 128 x 2 B
    KvBytes{"qwen2.5-14b", 196608},
    // 2 x 64 layers x 8 KV heads x 128 x 2 B
    KvBytes{"qwen2.5-32b", 262144},
    // 2 x 80 layers x 8 KV heads x 128 x 2 B
    KvBytes{"qwen2.5-72b", 327680},
    // 2 x 28 layers x 8 KV heads x 128 x 2 B
    KvBytes{"qwen3-0.6b", 114688},
    // 2 x 28 layers x 8 KV heads x 128 x 2 B
    KvBytes{"qwen3-1.7b", 114688},
    // 2 x 36 layers x 8 KV heads x 128 x 2 B
    KvBytes{"qwen3-4b", 147456},
    // 2 x 36 layers x 8 KV heads x 128 x 2 B
    KvBytes{"qwen3-8b", 147456},
    // 2 x 40 layers x 8 KV heads x 128 x 2 B
    KvBytes{"qwen3-14b", 163840},
    // 2 x 64 layers x 8 KV heads x 128 x 2 B
    KvBytes{"qwen3-32b", 262144},
    // 2 x 48 layers x 4 KV heads x 128 x 2 B
    KvBytes{"qwen3-30b-a3b", 98304},
    // 2 x 94 layers x 4 KV heads x 128 x 2 B
    KvBytes{"qwen3-235b-a22b", 192512},
    // 2 x 62 layers x 8 KV heads x 128 x 2 B
    KvBytes{"qwen3-coder-480b-a35b", 253952},
    // 2 x 42 layers x 8 KV heads x 256 x 2 B
    KvBytes{"gemma-2-9b", 344064},
    // 2 x 46 layers x 16 KV heads x 128 x 2 B
    KvBytes{"gemma-2-27b", 376832},
    // 2 x 26 layers x 1 KV heads x 256 x 2 B
    KvBytes{"gemma-3-1b", 26624},
    // 2 x 34 layers x 4 KV heads x 256 x 2 B
    KvBytes{"gemma-3-4b", 139264},
    // 2 x 48 layers x 8 KV heads x 256 x 2 B
    KvBytes{"gemma-3-12b", 393216},
    // 2 x 62 layers x 16 KV heads x 128 x 2 B
    KvBytes{"gemma-3-27b", 507904},
    // (25 local layers x 2 x 8 x 256 + 5 global x 2 x 2 x 512) x 2 B
    KvBytes{"gemma-4-26b-a4b", 225280},
    // the first 15 of 35 layers store: (12 local x 2 x 1 x 256 + 3 global x 2 x 1 x 512) x 2 B
    KvBytes{"gemma-4-e2b", 18432},
    // the first 24 of 42 layers store: (20 local x 2 x 2 x 256 + 4 global x 2 x 2 x 512) x 2 B
    KvBytes{"gemma-4-e4b", 57344},
    // (40 local layers x 2 x 8 x 256 + 8 global x 2 x 1 x 512) x 2 B
    KvBytes{"gemma-4-12b", 344064},
    // (50 local layers x 2 x 16 x 256 + 10 global x 2 x 4 x 512) x 2 B
    KvBytes{"gemma-4-31b", 901120},
    // 2 x 40 layers x 10 KV heads x 128 x 2 B
    KvBytes{"phi-4", 204800},
    // 2 x 32 layers x 32 KV heads x 96 x 2 B
    KvBytes{"phi-3-mini", 393216},
    // 2 x 24 layers x 8 KV heads x 64 x 2 B
    KvBytes{"gpt-oss-20b", 49152},
    // 2 x 36 layers x 8 KV heads x 64 x 2 B
    KvBytes{"gpt-oss-120b", 73728},
    // 27 layers x (512 latent + 64 rope) x 2 B, one copy
    KvBytes{"deepseek-v2-lite", 31104},
    // 60 layers x (512 latent + 64 rope) x 2 B, one copy
    KvBytes{"deepseek-v2", 69120},
    // 61 layers x (512 latent + 64 rope) x 2 B, one copy
    KvBytes{"deepseek-v3", 70272},
    // 61 layers x (512 latent + 64 rope) x 2 B, one copy
    KvBytes{"deepseek-r1", 70272},
    // 61 layers x (512 latent + 64 rope) x 2 B, one copy
    KvBytes{"kimi-k2", 70272},
    // 2 x 92 layers x 8 KV heads x 128 x 2 B
    KvBytes{"glm-4.5", 376832},
    // 2 x 46 layers x 8 KV heads x 128 x 2 B
    KvBytes{"glm-4.5-air", 188416},
    // 2 x 40 layers x 2 KV heads x 128 x 2 B
    KvBytes{"glm-4-9b", 40960},
    // 2 x 62 layers x 8 KV heads x 128 x 2 B
    KvBytes{"minimax-m2", 253952},
    // 2 x 48 layers x 8 KV heads x 128 x 2 B
    KvBytes{"llama-4-scout", 196608},
    // 2 x 48 layers x 8 KV heads x 128 x 2 B
    KvBytes{"llama-4-maverick", 196608},
    // 2 x 32 layers x 1 KV heads x 64 x 2 B
    KvBytes{"falcon-7b", 8192},
    // 2 x 60 layers x 8 KV heads x 64 x 2 B
    KvBytes{"falcon-40b", 122880},
    // 2 x 32 layers x 32 KV heads x 128 x 2 B
    KvBytes{"opt-6.7b", 524288},
    // 2 x 40 layers x 40 KV heads x 128 x 2 B
    KvBytes{"opt-13b", 819200},
    // 2 x 64 layers x 72 KV heads x 128 x 2 B
    KvBytes{"opt-66b", 2359296},
    // 2 x 96 layers x 96 KV heads x 128 x 2 B
    KvBytes{"gpt-3-175b", 4718592},
    // 2 x 49 layers with attention of 80 x 8 KV heads x 128 x 2 B
    KvBytes{"nemotron-super-49b", 200704},
    // 2 x 32 layers x 32 KV heads x 128 x 2 B
    KvBytes{"olmo-2-7b", 524288},
    // 2 x 40 layers x 64 KV heads x 128 x 2 B
    KvBytes{"command-r-35b", 1310720},
    // 2 x 24 layers x 32 KV heads x 64 x 2 B
    KvBytes{"smollm2-1.7b", 196608},
    // 2 x 32 layers x 4 KV heads x 128 x 2 B
    KvBytes{"starcoder2-7b", 65536},
    // 2 x 60 layers x 8 KV heads x 128 x 2 B
    KvBytes{"yi-34b", 245760},
};

}  // namespace roofcast
