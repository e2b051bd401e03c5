#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/reference/cpu/expert_routing.hpp"
#include "model/reference/cpu/kernels.hpp"
#include "model/reference/cpu/thread_pool.hpp"
#include "model/reference/cpu/weight_slab.hpp"

namespace roofcast {

/// What one thread multiplies of one expert: the same rows of up and gate, and rows of down.
struct ExpertSlice {
  Range inner;  // rows of up and of gate
  Range outer;  // rows of down
  WeightSlab up = {};
  WeightSlab gate = {};  // without rows: the expert is plain
  WeightSlab down = {};
  // Of the slice's rows; all or none of an expert's matrices have biases.
  const Bf16* up_bias = nullptr;
  const Bf16* gate_bias = nullptr;
  const Bf16* down_bias = nullptr;
};

/// Routed experts of a whole batch in one layer. Every expert is split by rows among all threads.
struct ExpertTask {
  std::int64_t batch = 0;
  std::int64_t hidden_dim = 0;
  std::int64_t expert_dim = 0;
  std::int64_t experts = 0;
  std::int64_t per_token = 0;
  const Bf16* scores = nullptr;  // (batch, experts)
  const Bf16* x = nullptr;       // (batch, hidden_dim)
  Bf16* y = nullptr;             // (batch, hidden_dim): the weighted sum of each token's experts
  RouterRule router = {};
  Activation activation = Activation::silu;
  ClampedSwiglu swiglu = {};
  std::function<ExpertSlice(std::int64_t expert, int thread)> slice;
};

/// Values between the matrices of experts, which layers share.
struct ExpertBuffers {
  std::vector<ExpertGroups> groups;  // by thread: each groups for itself, to save a barrier
  std::vector<Bf16> x;               // (pairs, hidden_dim)
  std::vector<Bf16> up;              // (pairs, expert_dim)
  std::vector<Bf16> gate;            // (pairs, expert_dim)
  std::vector<Bf16> hidden;          // (pairs, expert_dim)
  std::vector<Bf16> y;               // (pairs, hidden_dim)

  /// Makes room where there is less.
  void reserve(int threads, std::int64_t pairs, std::int64_t hidden_dim, std::int64_t expert_dim);
};

/// What one thread read and wrote, and the distinct experts of all threads.
struct ExpertReads {
  std::int64_t experts_hit = 0;
  std::int64_t weight_bytes = 0;
  std::int64_t activations = 0;  // elements
};

/// Chooses each token's experts into `choices` (batch, per_token) and runs them. By every thread of
/// a region; contains barriers, and when it returns only this thread's share of y is complete.
/// Outputs of experts are rounded to bf16 and summed in fp32.
ExpertReads run_experts(const ExpertTask& task, std::vector<ExpertChoice>& choices,
                        ExpertBuffers& buffers, const Kernels& kernels, ThreadPool& pool,
                        int thread);

}  // namespace roofcast
