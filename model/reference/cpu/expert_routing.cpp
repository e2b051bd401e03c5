#include "model/reference/cpu/expert_routing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace roofcast {

namespace {

using Scoring = RouterSemantics::Scoring;

/// One token's scores under a rule.
struct TokenScores {
  const Bf16* scores;
  std::int64_t n;
  const RouterRule& rule;

  float score(std::int64_t expert) const {
    const float offset = rule.offsets == nullptr ? 0.0F : rule.offsets[expert];
    return bf16_to_float(scores[expert]) + offset;
  }
  float sigmoid(std::int64_t expert) const { return 1.0F / (1.0F + std::exp(-score(expert))); }
  /// What experts are compared by.
  float rank(std::int64_t expert) const {
    const float own = rule.semantics.scoring == Scoring::sigmoid ? sigmoid(expert) : score(expert);
    return rule.choice_bias == nullptr ? own : own + rule.choice_bias[expert];
  }
};

/// Marks the groups that a token's experts may come from.
std::array<bool, kMaxRouterGroups> open_groups(const TokenScores& token) {
  const std::int64_t groups = token.rule.semantics.groups;
  const std::int64_t size = token.n / groups;
  std::array<float, kMaxRouterGroups> sums{};
  for (std::int64_t group = 0; group < groups; ++group) {
    float best = -std::numeric_limits<float>::infinity();
    float second = best;
    for (std::int64_t e = group * size; e < (group + 1) * size; ++e) {
      const float rank = token.rank(e);
      second = std::max(second, std::min(best, rank));
      best = std::max(best, rank);
    }
    sums[static_cast<std::size_t>(group)] = size > 1 ? best + second : best;
  }
  std::array<bool, kMaxRouterGroups> open{};
  for (std::int64_t i = 0; i < token.rule.semantics.groups_per_token; ++i) {
    std::int64_t top = -1;
    for (std::int64_t group = 0; group < groups; ++group)
      if (!open[static_cast<std::size_t>(group)] &&
          (top < 0 || sums[static_cast<std::size_t>(group)] > sums[static_cast<std::size_t>(top)]))
        top = group;
    open[static_cast<std::size_t>(top)] = true;
  }
  return open;
}

/// Puts the k best experts into `out`, with what they were compared by.
void rank_experts(const TokenScores& token, std::int64_t k, ExpertChoice* out) {
  const std::int64_t groups = token.rule.semantics.groups;
  std::array<bool, kMaxRouterGroups> open{};
  if (groups > 1) open = open_groups(token);
  std::int64_t held = 0;
  for (std::int64_t expert = 0; expert < token.n; ++expert) {
    if (groups > 1 && !open[static_cast<std::size_t>(expert / (token.n / groups))]) continue;
    const float rank = token.rank(expert);
    if (held == k && rank <= out[k - 1].weight) continue;
    std::int64_t at = held < k ? held++ : k - 1;
    for (; at > 0 && rank > out[at - 1].weight; --at) out[at] = out[at - 1];
    out[at] = {expert, rank};
  }
}

/// Sum by which softmax weights relative to `top` are divided.
float softmax_sum(const TokenScores& token, float top, std::int64_t k, const ExpertChoice* chosen) {
  float sum = 0.0F;
  if (token.rule.semantics.normalize) {
    for (std::int64_t i = 0; i < k; ++i) sum += chosen[i].weight;
  } else {
    for (std::int64_t e = 0; e < token.n; ++e) sum += std::exp(token.score(e) - top);
  }
  return sum;
}

}  // namespace

void choose_experts(const Bf16* scores, std::int64_t n, std::int64_t k, const RouterRule& rule,
                    ExpertChoice* out) {
  const TokenScores token{scores, n, rule};
  rank_experts(token, k, out);
  float sum = 1.0F;
  if (rule.semantics.scoring == Scoring::softmax) {
    float top = token.score(out[0].expert);
    for (std::int64_t i = 1; i < k; ++i) top = std::max(top, token.score(out[i].expert));
    for (std::int64_t i = 0; i < k; ++i) out[i].weight = std::exp(token.score(out[i].expert) - top);
    sum = softmax_sum(token, top, k, out);
  } else {
    for (std::int64_t i = 0; i < k; ++i) out[i].weight = token.sigmoid(out[i].expert);
    if (rule.semantics.normalize) {
      sum = 1e-20F;  // as the model's code: scores may all be 0
      for (std::int64_t i = 0; i < k; ++i) sum += out[i].weight;
    }
  }
  for (std::int64_t i = 0; i < k; ++i) out[i].weight *= rule.semantics.scale / sum;
}

std::vector<float> zipf_offsets(std::int64_t n, double skew, int seed) {
  std::vector<float> offsets;
  for (std::int64_t rank = 0; rank < n; ++rank)
    offsets.push_back(static_cast<float>(-skew * std::log1p(static_cast<double>(rank))));
  std::shuffle(offsets.begin(), offsets.end(), std::mt19937(static_cast<unsigned>(seed)));
  return offsets;
}

void group_by_expert(const std::vector<ExpertChoice>& choices, std::int64_t per_token,
                     std::int64_t experts, ExpertGroups& groups) {
  groups.next.assign(static_cast<std::size_t>(experts), 0);
  for (const ExpertChoice& choice : choices) ++groups.next[static_cast<std::size_t>(choice.expert)];
  groups.hit.clear();
  groups.first.assign(1, 0);
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    std::int64_t& next = groups.next[static_cast<std::size_t>(expert)];
    if (next == 0) continue;
    const std::int64_t begin = groups.first.back();
    groups.hit.push_back(expert);
    groups.first.push_back(begin + next);
    next = begin;
  }
  groups.token.resize(choices.size());
  groups.pair.resize(choices.size());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::int64_t pair = groups.next[static_cast<std::size_t>(choices[i].expert)]++;
    groups.pair[i] = pair;
    groups.token[static_cast<std::size_t>(pair)] = static_cast<std::int64_t>(i) / per_token;
  }
}

}  // namespace roofcast
