#include "model/reference/cpu/expert_routing.hpp"

#include <cmath>

namespace roofcast {

void choose_experts(const Bf16* scores, std::int64_t n, std::int64_t k, ExpertChoice* out) {
  std::int64_t held = 0;  // in `out`, sorted; weights are scores for now
  for (std::int64_t expert = 0; expert < n; ++expert) {
    const float score = bf16_to_float(scores[expert]);
    if (held == k && score <= out[k - 1].weight) continue;
    std::int64_t at = held < k ? held++ : k - 1;
    for (; at > 0 && score > out[at - 1].weight; --at) out[at] = out[at - 1];
    out[at] = {expert, score};
  }
  const float top = out[0].weight;
  float sum = 0.0F;
  for (std::int64_t i = 0; i < k; ++i) sum += out[i].weight = std::exp(out[i].weight - top);
  for (std::int64_t i = 0; i < k; ++i) out[i].weight /= sum;
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
