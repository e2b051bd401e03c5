#include "model/reference/cpu/expert_routing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

std::vector<ExpertChoice> chosen(const std::vector<float>& scores, std::int64_t k,
                                 const RouterRule& rule = {}) {
  std::vector<Bf16> bits;
  for (const float score : scores) bits.push_back(float_to_bf16(score));
  std::vector<ExpertChoice> out(static_cast<std::size_t>(k));
  choose_experts(bits.data(), static_cast<std::int64_t>(bits.size()), k, rule, out.data());
  return out;
}

std::vector<std::int64_t> experts_of(const std::vector<ExpertChoice>& choices) {
  std::vector<std::int64_t> experts;
  for (const ExpertChoice& choice : choices) experts.push_back(choice.expert);
  return experts;
}

using Experts = std::vector<std::int64_t>;

TEST_CASE("the largest scores are chosen, weighed by a softmax over them alone") {
  const auto choices = chosen({0.5F, 2.0F, -1.0F, 3.0F}, 2);
  CHECK(experts_of(choices) == Experts{3, 1});
  // e^3 / (e^3 + e^2) = 1 / (1 + e^-1) = 0.731
  CHECK(static_cast<double>(choices[0].weight) == relative(0.7310586).epsilon(1e-6));
  CHECK(static_cast<double>(choices[1].weight) == relative(0.2689414).epsilon(1e-6));
}

TEST_CASE("of equal scores the first experts are chosen, in their order") {
  CHECK(experts_of(chosen({1.0F, 1.0F, 1.0F, 1.0F}, 3)) == Experts{0, 1, 2});
  CHECK(experts_of(chosen({0.0F, 1.0F, 2.0F, 1.0F, 2.0F}, 3)) == Experts{2, 4, 1});
  CHECK(experts_of(chosen({2.0F, 1.0F, 1.0F, 2.0F}, 4)) == Experts{0, 3, 1, 2});
}

TEST_CASE("one expert of many weighs 1, and large scores do not overflow") {
  const auto choices = chosen({-500.0F, 300.0F, 299.0F}, 1);
  CHECK(experts_of(choices) == Experts{1});
  CHECK(choices[0].weight == 1.0F);
  for (const ExpertChoice& choice : chosen({3e38F, -3e38F}, 2)) CHECK(std::isfinite(choice.weight));
}

RouterRule rule_of(const RouterSemantics& semantics) {
  RouterRule rule;
  rule.semantics = semantics;
  return rule;
}

TEST_CASE("weights that are not normalised keep their shares among all experts") {
  const auto choices = chosen({0.0F, 1.0F, 1.0F, 0.0F}, 2, rule_of({.normalize = false}));
  CHECK(experts_of(choices) == Experts{1, 2});
  // e / (2 e + 2) = 0.3655
  for (const ExpertChoice& choice : choices)
    CHECK(static_cast<double>(choice.weight) == relative(0.3655293).epsilon(1e-6));
}

TEST_CASE("sigmoid scores weigh by their shares, scaled, and a bias chooses without weighing") {
  const float bias[] = {0.0F, 0.5F, 0.0F, -0.9F};
  RouterRule rule = rule_of({.scoring = RouterSemantics::Scoring::sigmoid, .scale = 2.5F});
  rule.choice_bias = bias;
  // Sigmoids of 0, -1, 1, 3 are 0.5, 0.269, 0.731, 0.953: with the bias, 0.769 and 0.731 are most.
  const auto choices = chosen({0.0F, -1.0F, 1.0F, 3.0F}, 2, rule);
  CHECK(experts_of(choices) == Experts{1, 2});
  // sigmoid(-1) + sigmoid(1) = 1
  CHECK(static_cast<double>(choices[0].weight) == relative(2.5 * 0.2689414).epsilon(1e-6));
  CHECK(static_cast<double>(choices[1].weight) == relative(2.5 * 0.7310586).epsilon(1e-6));
  rule.semantics.normalize = false;
  rule.semantics.scale = 1.0F;
  CHECK(static_cast<double>(chosen({0.0F, -1.0F, 1.0F, 3.0F}, 2, rule)[1].weight) ==
        relative(0.7310586).epsilon(1e-6));
}

TEST_CASE("experts come from the groups whose two best add up to most") {
  const RouterRule rule =
      rule_of({.scoring = RouterSemantics::Scoring::sigmoid, .groups = 3, .groups_per_token = 1});
  // The largest score stands alone in the first group; the last has the largest pair.
  CHECK(experts_of(chosen({4.0F, -4.0F, -4.0F, 1.0F, 0.0F, 1.0F, 2.0F, 1.5F, 1.0F}, 3, rule)) ==
        Experts{6, 7, 8});
  RouterRule two = rule;
  two.semantics.groups_per_token = 2;
  CHECK(experts_of(chosen({4.0F, -4.0F, -4.0F, 1.0F, 0.0F, 1.0F, 2.0F, 1.5F, 1.0F}, 3, two)) ==
        Experts{6, 7, 3});
}

TEST_CASE("offsets of a Zipf law fall with the logarithm of the rank, which the seed shuffles") {
  std::vector<float> offsets = zipf_offsets(64, 1.5, 3);
  CHECK(offsets != zipf_offsets(64, 1.5, 4));
  CHECK(offsets == zipf_offsets(64, 1.5, 3));
  std::sort(offsets.rbegin(), offsets.rend());
  CHECK(offsets[0] == 0.0F);
  // Rank 9 has odds of 10^-1.5 against the first.
  CHECK(std::exp(static_cast<double>(offsets[9])) == relative(std::pow(10.0, -1.5)).epsilon(1e-6));
  const float boost[] = {0.0F, 0.0F, 9.0F};
  RouterRule rule;
  rule.offsets = boost;
  CHECK(experts_of(chosen({3.0F, 2.0F, 0.0F}, 2, rule)) == Experts{2, 0});
}

TEST_CASE("choices group by expert, and every choice finds its pair") {
  // Three tokens with two of five experts each.
  const std::vector<ExpertChoice> choices = {{4, 0.5F}, {1, 0.5F}, {1, 0.5F},
                                             {0, 0.5F}, {4, 0.5F}, {1, 0.5F}};
  ExpertGroups groups;
  for (int repeat = 0; repeat < 2; ++repeat) {
    group_by_expert(choices, 2, 5, groups);
    CHECK(groups.hit == Experts{0, 1, 4});
    CHECK(groups.first == Experts{0, 1, 4, 6});
    CHECK(groups.token == Experts{1, 0, 1, 2, 0, 2});
    CHECK(groups.pair == Experts{4, 1, 2, 0, 5, 3});
  }
  group_by_expert({{2, 1.0F}}, 1, 3, groups);
  CHECK(groups.hit == Experts{2});
  CHECK(groups.token == Experts{0});
}

}  // namespace
}  // namespace roofcast
