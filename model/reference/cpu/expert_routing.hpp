#pragma once

#include <cstdint>
#include <vector>

#include "model/reference/cpu/bf16.hpp"

namespace roofcast {

/// An expert that a token uses, and what its output counts.
struct ExpertChoice {
  std::int64_t expert = 0;
  float weight = 0.0F;
};

/// The k of n experts with the largest scores, largest first, the lower number first among equals.
/// Weights are the softmax over the chosen, as in Mixtral (arXiv:2401.04088, section 2.1); a
/// softmax over all that is normalised after the choice (Qwen3-MoE) is the same. 1 <= k <= n.
void choose_experts(const Bf16* scores, std::int64_t n, std::int64_t k, ExpertChoice* out);

/// Choices of a batch by expert. A pair is a token with one of its experts; pairs are numbered
/// expert by expert, so that an expert's tokens lie together.
struct ExpertGroups {
  std::vector<std::int64_t> hit;    // distinct experts, ascending
  std::vector<std::int64_t> first;  // (hit + 1): expert hit[i] has pairs first[i] .. first[i + 1]
  std::vector<std::int64_t> token;  // (pairs)
  std::vector<std::int64_t> pair;   // (batch, per_token): the pair of each choice
  std::vector<std::int64_t> next;   // (experts), between calls of no meaning
};

/// Groups `choices` (batch, per_token) of `experts` experts. Allocates only to grow.
void group_by_expert(const std::vector<ExpertChoice>& choices, std::int64_t per_token,
                     std::int64_t experts, ExpertGroups& groups);

}  // namespace roofcast
