#include "sim/validation_grid.hpp"

#include <algorithm>

#include "model/architecture/architecture_yaml.hpp"

namespace roofcast {
namespace {

/// Few cached bytes per token: contexts up to 16 Ki at any batch.
constexpr GridPoint kLight[] = {{1, 128},  {16, 160}, {8, 640},  {4, 1024},  {16, 1536},
                                {1, 4096}, {4, 4096}, {8, 6000}, {2, 12000}, {1, 16384}};
/// Many cached bytes per token: the same with fewer long contexts.
constexpr GridPoint kHeavy[] = {{1, 128},  {16, 160}, {8, 640},  {2, 1536},
                                {16, 640}, {1, 4096}, {4, 3000}, {1, 16384}};
/// Beyond any window or chunk of the cases that use it, but for the first two.
constexpr GridPoint kLong[] = {{1, 128},  {8, 640},   {1, 4000},  {4, 4000},
                               {8, 6000}, {16, 3000}, {2, 12000}, {4, 15000}};
/// Batches of which each hits another number of experts.
constexpr GridPoint kRouted[] = {{1, 128},  {2, 1024},  {4, 640},  {8, 160},
                                 {16, 128}, {16, 1536}, {1, 6000}, {4, 4096}};

/// Steps of which caches are a good part.
constexpr GridPoint kCached[] = {{1, 128}, {4, 3000}, {16, 1536}, {1, 16384}, {8, 6000}};
/// What the other kinds share: from one short sequence to many and to a long one.
constexpr GridPoint kFew[] = {{1, 128}, {4, 640}, {16, 160}, {1, 4096}, {8, 3000}};

constexpr GridCase kGrid[] = {
    {"gqa", R"(
hidden_dim: 1792
vocab_size: 24064
tied_embeddings: true
attention:
  full: {kind: gqa, n_heads: 14, n_kv_heads: 2, head_dim: 128}
ffn:
  dense: {kind: dense, ffn_dim: 4864}
layers:
  - {count: 6, attention: full, ffn: dense}
)",
     kLight},
    {"mha", R"(
hidden_dim: 1280
vocab_size: 20096
tied_embeddings: false
attention:
  full: {kind: gqa, n_heads: 20, n_kv_heads: 20, head_dim: 64}
ffn:
  dense: {kind: dense, ffn_dim: 3456}
layers:
  - {count: 10, attention: full, ffn: dense}
)",
     kHeavy},
    {"mqa", R"(
hidden_dim: 2304
vocab_size: 24064
tied_embeddings: true
attention:
  full: {kind: gqa, n_heads: 18, n_kv_heads: 1, head_dim: 128, qk_norm: head}
ffn:
  dense: {kind: dense, ffn_dim: 6400}
layers:
  - {count: 5, attention: full, ffn: dense}
)",
     kLight},
    {"window", R"(
hidden_dim: 1536
vocab_size: 24064
tied_embeddings: true
attention:
  local: {kind: sliding_window, n_heads: 12, n_kv_heads: 4, head_dim: 128, window: 768}
ffn:
  dense: {kind: dense, ffn_dim: 4224}
layers:
  - {count: 8, attention: local, ffn: dense}
)",
     kLong},
    {"window_and_full", R"(
hidden_dim: 1152
vocab_size: 24064
tied_embeddings: true
norms_per_block: 2
attention:
  local: {kind: sliding_window, n_heads: 4, n_kv_heads: 2, head_dim: 256, window: 512, qk_norm: head}
  full: {kind: gqa, n_heads: 4, n_kv_heads: 2, head_dim: 256, qk_norm: head}
ffn:
  dense: {kind: dense, ffn_dim: 5376}
layers:
  - {repeat: 3, pattern: [{count: 3, attention: local, ffn: dense}, {count: 1, attention: full, ffn: dense}]}
)",
     kLong},
    {"chunk", R"(
hidden_dim: 1536
vocab_size: 24064
tied_embeddings: true
attention:
  local: {kind: chunked, n_heads: 12, n_kv_heads: 4, head_dim: 128, chunk: 2048}
ffn:
  dense: {kind: dense, ffn_dim: 4224}
layers:
  - {count: 8, attention: local, ffn: dense}
)",
     kLong},
    {"moe", R"(
hidden_dim: 1280
vocab_size: 24064
tied_embeddings: true
attention:
  full: {kind: gqa, n_heads: 10, n_kv_heads: 2, head_dim: 128}
ffn:
  experts: {kind: moe, n_experts: 48, n_experts_per_token: 4, expert_dim: 640}
layers:
  - {count: 5, attention: full, ffn: experts}
)",
     kRouted},
    {"moe_shared", R"(
hidden_dim: 1536
vocab_size: 24064
tied_embeddings: true
attention:
  full: {kind: gqa, n_heads: 12, n_kv_heads: 2, head_dim: 128}
ffn:
  experts: {kind: moe, n_experts: 24, n_experts_per_token: 2, expert_dim: 896, n_shared_experts: 1, shared_expert_dim: 1792}
layers:
  - {count: 5, attention: full, ffn: experts}
)",
     kRouted},
    {"gqa_kv_fp8", R"(
hidden_dim: 1536
vocab_size: 24064
tied_embeddings: true
attention:
  full: {kind: gqa, n_heads: 12, n_kv_heads: 4, head_dim: 128}
ffn:
  dense: {kind: dense, ffn_dim: 4224}
layers:
  - {count: 7, attention: full, ffn: dense}
formats: {k: fp8_e4m3, v: fp8_e4m3}
)",
     kCached},
    {"gqa_kv_int8", R"(
hidden_dim: 1536
vocab_size: 24064
tied_embeddings: true
attention:
  full: {kind: gqa, n_heads: 12, n_kv_heads: 4, head_dim: 128}
ffn:
  dense: {kind: dense, ffn_dim: 4224}
layers:
  - {count: 7, attention: full, ffn: dense}
formats: {k: int8, v: int8}
)",
     kCached},
    {"mla", R"(
hidden_dim: 1536
vocab_size: 24064
tied_embeddings: true
attention:
  latent: {kind: mla, n_heads: 20, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128}
ffn:
  dense: {kind: dense, ffn_dim: 4224}
layers:
  - {count: 6, attention: latent, ffn: dense}
)",
     kFew},
    {"mla_sparse", R"(
hidden_dim: 1536
vocab_size: 24064
tied_embeddings: true
attention:
  latent: {kind: mla_sparse, n_heads: 16, q_lora_rank: 768, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128, index_n_heads: 16, index_head_dim: 128, index_topk: 1024}
ffn:
  dense: {kind: dense, ffn_dim: 4224}
layers:
  - {count: 6, attention: latent, ffn: dense}
)",
     kFew},
    {"gated_delta", R"(
hidden_dim: 1536
vocab_size: 24064
tied_embeddings: true
attention:
  linear: {kind: gated_delta, n_key_heads: 12, n_value_heads: 24, key_head_dim: 128, value_head_dim: 128, conv_kernel: 4}
  full: {kind: gqa, n_heads: 12, n_kv_heads: 2, head_dim: 128, qk_norm: head}
ffn:
  dense: {kind: dense, ffn_dim: 4224}
layers:
  - {repeat: 2, pattern: [{count: 3, attention: linear, ffn: dense}, {count: 1, attention: full, ffn: dense}]}
)",
     kFew},
    {"mamba2", R"(
hidden_dim: 1536
vocab_size: 24064
tied_embeddings: true
attention:
  mamba: {kind: mamba2, n_heads: 48, head_dim: 64, n_groups: 8, state_dim: 128, conv_kernel: 4, conv_bias: true}
  full: {kind: gqa, n_heads: 12, n_kv_heads: 2, head_dim: 128}
  none: {kind: none}
ffn:
  none: {kind: none}
  dense: {kind: dense, ffn_dim: 6400}
layers:
  - {repeat: 4, pattern: [{count: 2, attention: mamba, ffn: none}, {count: 1, attention: none, ffn: dense}]}
  - {count: 1, attention: full, ffn: none}
)",
     kFew},
};

}  // namespace

std::span<const GridCase> validation_grid() { return kGrid; }

ArchitectureSpec grid_spec(const GridCase& row) {
  const std::string name(row.name);
  const std::string text = "schema: 1\nname: " + name + std::string(row.spec);
  return read_architecture(parse_yaml(text, "validation case " + name));
}

GridMemory grid_memory(const ArchitectureSpec& spec, std::span<const GridPoint> points) {
  GridMemory memory{.weights = weight_bytes(spec).resident.value};
  for (const GridPoint& point : points) {
    const CacheBytes one = cache_bytes(spec, static_cast<double>(point.context + 1));
    const double all = (one.kv + one.state).value * static_cast<double>(point.batch);
    memory.cache = std::max(memory.cache, all);
  }
  return memory;
}

}  // namespace roofcast
