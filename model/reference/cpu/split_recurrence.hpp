#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/reference/cpu/kernels.hpp"
#include "model/reference/cpu/thread_pool.hpp"

namespace roofcast {

/// What a token does to one head's state, apart from its vectors.
struct HeadControl {
  float decay = 1.0F;             // of all rows of the state
  const float* decays = nullptr;  // (key_dim): one per row instead
  float strength = 1.0F;          // see StateRule
  float skip = 0.0F;              // this much of the value is added to the output
};

/// Rows of bf16 vectors, one row per sequence.
struct VectorRows {
  const Bf16* data = nullptr;
  std::int64_t stride = 0;  // elements between sequences
};

/// The recurrence of a whole batch in one layer. An item is one head of one sequence
/// (sequence-major); its state belongs to the thread that runs it.
struct RecurrenceTask {
  std::int64_t sequences = 0;
  std::int64_t heads = 0;      // with a state and a value each
  std::int64_t key_heads = 0;  // keys and queries, each shared by heads / key_heads heads
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  StateRule rule = StateRule::linear;
  StateFormat format = StateFormat::fp32;
  bool silu_inputs = false;  // of keys, queries and values, before all else
  bool unit_keys = false;    // keys and queries are first brought to length 1
  float query_scale = 1.0F;  // of the output, but not of what skips the state
  VectorRows keys;           // (key_heads, key_dim)
  VectorRows queries;        // (key_heads, key_dim)
  VectorRows values;         // (heads, value_dim)
  std::function<HeadControl(std::int64_t sequence, std::int64_t head)> control = {};
  std::function<void*(std::int64_t item)> state = {};
  Bf16* out = nullptr;  // (sequences, heads, value_dim)
};

/// One head's vectors in fp32, as one thread works on them.
struct StepVectors {
  std::vector<float> key, query, decay, value, out;
  StepVectors() = default;
  StepVectors(std::int64_t key_dim, std::int64_t value_dim);
};

/// What one thread ran: items, and the keys (with their queries) that it read for them.
struct RecurrenceReads {
  std::int64_t items = 0;
  std::int64_t keys = 0;
};

/// The share of one thread, which works in `vectors`.
RecurrenceReads run_recurrence(const RecurrenceTask& task, const Kernels& kernels, int thread,
                               int threads, StepVectors& vectors);

}  // namespace roofcast
