#include "microbench/shared/statistics.hpp"

#include <doctest/doctest.h>

#include <random>
#include <stdexcept>

#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values;
  for (int i = n; i >= 1; --i) values.push_back(i);
  return values;
}

TEST_CASE("quantiles interpolate between order statistics") {
  // Of 1..5: median 3; the 0.1 quantile lies 0.4 of the way from the 1st to the 2nd.
  CHECK(quantile(one_to(5), 0.5) == relative(3.0));
  CHECK(quantile(one_to(5), 0.1) == relative(1.4));
  CHECK(quantile(one_to(5), 0.0) == 1.0);
  CHECK(quantile(one_to(5), 1.0) == 5.0);
  CHECK(median({4.0, 1.0}) == relative(2.5));
  CHECK_THROWS_AS(quantile({}, 0.5), std::invalid_argument);
}

TEST_CASE("the median's interval has the ranks of the sign test's tables") {
  // Conover, Practical Nonparametric Statistics: for n = 10 ranks 2 and 9, for n = 20 ranks 6 and
  // 15, for n = 50 ranks 18 and 33.
  const auto ten = median_interval(one_to(10));
  REQUIRE(ten);
  CHECK(ten->low == 2.0);
  CHECK(ten->high == 9.0);
  const auto twenty = median_interval(one_to(20));
  CHECK(twenty->low == 6.0);
  CHECK(twenty->high == 15.0);
  const auto fifty = median_interval(one_to(50));
  CHECK(fifty->low == 18.0);
  CHECK(fifty->high == 33.0);
}

TEST_CASE("five values give no interval with 95 % coverage") {
  // Even the extremes miss the median with probability 2 / 2^5 = 6.25 %.
  CHECK_FALSE(median_interval(one_to(5)));
  CHECK(median_interval(one_to(6)));
}

TEST_CASE("the interval covers the true median as often as it says, on a long-tailed series") {
  std::mt19937 engine(1);
  std::lognormal_distribution<double> value(0.0, 1.0);  // median 1
  int covered = 0;
  constexpr int kSeries = 2000;
  for (int s = 0; s < kSeries; ++s) {
    std::vector<double> values(25);
    for (double& x : values) x = value(engine);
    const auto interval = median_interval(values);
    covered += interval->low <= 1.0 && 1.0 <= interval->high ? 1 : 0;
  }
  // 25 samples: ranks 8 and 18 cover with 95.7 %; 2000 series scatter by 0.5 %.
  CHECK(covered > kSeries * 0.94);
  CHECK(covered < kSeries * 0.975);
}

TEST_CASE("an interval of many thousand samples is a thin one around the median") {
  const auto interval = median_interval(one_to(20001));
  REQUIRE(interval);
  // Half width about 1.96 * sqrt(n) / 2 = 139 ranks.
  CHECK(interval->low == relative(10001.0 - 139.0).epsilon(0.001));
  CHECK(interval->high == relative(10001.0 + 139.0).epsilon(0.001));
}

TEST_CASE("a summary holds median, quartiles and the relative half width") {
  const TimingSummary summary = summarize(one_to(20));
  CHECK(summary.median_s == relative(10.5));
  CHECK(summary.q1_s == relative(5.75));
  CHECK(summary.q3_s == relative(15.25));
  CHECK(summary.samples == 20);
  CHECK(summary.half_width == relative(4.5 / 10.5));
  CHECK(summarize({1.0}).half_width == 1.0);
  CHECK_THROWS_AS(summarize({}), std::invalid_argument);
}

}  // namespace
}  // namespace roofcast
