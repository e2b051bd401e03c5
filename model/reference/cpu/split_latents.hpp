#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/reference/cpu/split_attention.hpp"

namespace roofcast {

/// Absorbed latent attention of a whole batch in one layer: all heads of a sequence read the same
/// latents, so a sequence is one item, and threads share its tokens.
struct LatentTask {
  std::int64_t sequences = 0;
  std::int64_t heads = 0;
  std::int64_t latent_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t tokens = 0;  // that each sequence attends to
  float scale = 0.0F;
  const Bf16* q = nullptr;                                         // (sequences, heads, latent_dim)
  std::function<const Bf16*(std::int64_t sequence)> latents = {};  // (cached tokens, latent_dim)
  const std::int32_t* chosen = nullptr;  // (sequences, tokens) or none: the cached tokens to read
  Bf16* out = nullptr;                   // (sequences, heads, value_dim)
};

/// Runs latent tasks on a pool; keeps queries as tiles and the partial outputs of shared sequences.
class SplitLatents {
 public:
  SplitLatents() = default;
  SplitLatents(int threads, std::int64_t heads, std::int64_t latent_dim, std::int64_t value_dim);

  /// By every thread of a region. Contains a barrier when sequences are shared; when it returns,
  /// only this thread's share of the output is complete.
  AttentionReads run(const LatentTask& task, const Kernels& kernels, ThreadPool& pool, int thread);

 private:
  /// What a thread works with: see SplitAttention for the parts.
  struct Own {
    AttentionPart whole, head, tail;
    std::vector<Bf16> q;         // tiles of the sequence at work
    std::vector<Bf16> gathered;  // latents of a block of chosen tokens
  };

  void run_piece(const LatentTask& task, const Kernels& kernels, Own& own,
                 const AttentionPiece& piece) const;
  void merge(const LatentTask& task, int thread);

  std::vector<Own> own_;  // by thread
};

}  // namespace roofcast
