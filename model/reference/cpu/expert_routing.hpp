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

/// How a router turns scores into a choice and its weights.
struct RouterSemantics {
  /// Weights come from a softmax of the scores, or from a sigmoid of each (DeepSeek-V3).
  enum class Scoring { softmax, sigmoid };

  Scoring scoring = Scoring::softmax;
  /// Weights of the chosen add up to `scale`: with a softmax, it is one over the chosen alone, as
  /// in Mixtral (arXiv:2401.04088, section 2.1). Otherwise they keep their shares among all.
  bool normalize = true;
  float scale = 1.0F;
  /// The router's bias is added for the choice only, after the sigmoid (arXiv:2412.19437, eq. 16).
  bool bias_only_chooses = false;
  /// Experts are chosen inside the `groups_per_token` of `groups` equal groups whose two best
  /// experts add up to most (DeepSeek-V3, modeling code of the model's repository).
  std::int64_t groups = 1;
  std::int64_t groups_per_token = 1;
  bool operator==(const RouterSemantics&) const = default;
};
inline constexpr std::int64_t kMaxRouterGroups = 64;

/// A router's rules for one layer.
struct RouterRule {
  RouterSemantics semantics = {};
  const float* choice_bias = nullptr;  // (n) or none: added for the choice only
  const float* offsets = nullptr;      // (n) or none: added to the scores
};

/// The k of n experts with the largest scores, largest first, the lower number first among equals,
/// and their weights. 1 <= k <= n; with groups, k experts have to fit into those chosen.
void choose_experts(const Bf16* scores, std::int64_t n, std::int64_t k, const RouterRule& rule,
                    ExpertChoice* out);

/// Offsets (n) of scores that make some experts popular: expert of rank r gets -skew x log(1 + r),
/// so that its odds against the most popular one fall as a power of its rank, as in Zipf's law.
/// Ranks are shuffled by `seed`.
std::vector<float> zipf_offsets(std::int64_t n, double skew, int seed);

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
