#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/reference/cpu/kernels.hpp"
#include "model/reference/cpu/thread_pool.hpp"

namespace roofcast {

/// A run of tokens of one item (a key-value head of one sequence).
struct AttentionPiece {
  std::int64_t item = 0;
  std::int64_t token0 = 0;
  std::int64_t token1 = 0;
  bool first = false;  // starts at token 0
  bool last = false;   // ends at the newest token
  bool whole() const { return first && last; }
  bool operator==(const AttentionPiece&) const = default;
};

/// Shares `items` caches of `tokens` tokens evenly among threads, in steps of kTokenStep tokens.
/// A thread gets whole items but for the first and the last of its pieces, which other threads may
/// continue: when few heads meet many threads, the context itself is split.
std::vector<AttentionPiece> attention_pieces(std::int64_t items, std::int64_t tokens, int thread,
                                             int threads);

/// Whether any item is shared between threads, so that their parts have to be merged.
bool splits_items(std::int64_t items, std::int64_t tokens, int threads);

/// Partial outputs of one item as one thread left them, see AttentionArgs.
struct AttentionPart {
  std::int64_t item = -1;  // -1: none
  bool last = false;       // ends at the newest token
  std::vector<float> max;  // (group)
  std::vector<float> sum;  // (group)
  std::vector<float> out;  // (group, value_dim)
};

/// Adds `other` to `part`: both weigh by their distance to the larger maximum.
void merge_part(const AttentionPart& other, std::int64_t value_dim, AttentionPart& part);

/// Attention of a whole batch in one layer.
struct AttentionTask {
  std::int64_t sequences = 0;
  std::int64_t n_kv_heads = 0;
  std::int64_t group = 0;  // query heads per key-value head
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t tokens = 0;    // cached tokens, the newest one included
  const Bf16* q = nullptr;    // (sequences, n_kv_heads * group, head_dim)
  std::int64_t q_stride = 0;  // elements between sequences
  std::function<const void*(std::int64_t item)> keys;
  std::function<const void*(std::int64_t item)> values;
  KvCode key_code = KvCode::bf16;
  KvCode value_code = KvCode::bf16;
  float key_scale = 1.0F;  // of what the codes of keys stand for
  float value_scale = 1.0F;
  /// The pages of a sequence, see AttentionArgs; caches lie in order without.
  std::function<const std::int32_t*(std::int64_t sequence)> pages = {};
  std::int64_t page_tokens = 0;
  float scale = 0.0F;           // of scores; 0: 1 / sqrt(head_dim)
  const Bf16* sinks = nullptr;  // (n_kv_heads * group) or none: scores of a token without a value
  const Bf16* gate = nullptr;   // as `out`, but q_stride apart, or none: out *= sigmoid(gate)
  Bf16* out = nullptr;          // (sequences, n_kv_heads * group, value_dim)
};

/// What one thread read: cached tokens over all its items, the newest included, and query rows.
struct AttentionReads {
  std::int64_t tokens = 0;
  std::int64_t items_started = 0;
  std::int64_t items_joined = 0;
};

/// Runs attention tasks on a pool; keeps the partial outputs of shared items.
class SplitAttention {
 public:
  SplitAttention() = default;
  SplitAttention(int threads, std::int64_t group, std::int64_t value_dim);

  /// By every thread of a region. Contains a barrier when items are shared; when it returns, only
  /// this thread's share of the output is complete.
  AttentionReads run(const AttentionTask& task, const Kernels& kernels, ThreadPool& pool,
                     int thread);

 private:
  void run_piece(const AttentionTask& task, const Kernels& kernels, int thread,
                 const AttentionPiece& piece);
  void merge(const AttentionTask& task, int thread);

  /// A whole item passes through `whole`, the start of an item that another thread continues stays
  /// in `head`, the continuation of another's in `tail`.
  struct Parts {
    AttentionPart whole, head, tail;
  };
  std::vector<Parts> parts_;  // by thread
};

}  // namespace roofcast
