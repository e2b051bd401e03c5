#include "microbench/shared/sampling.hpp"

#include <doctest/doctest.h>

#include "tests/relative.hpp"

using roofcast::test::relative;

namespace roofcast {
namespace {

TEST_CASE("a constant series settles at the least number of samples") {
  std::vector<double> seconds;
  while (stop_reason(seconds, 0.0, {}) == StopReason::go_on) seconds.push_back(0.001);
  CHECK(seconds.size() == 20);
  CHECK(stop_reason(seconds, 0.0, {}) == StopReason::settled);
}

TEST_CASE("a series that scatters by ten per cent goes on, and time ends it") {
  std::vector<double> seconds;
  for (int i = 0; i < 100; ++i) seconds.push_back(i % 2 == 0 ? 1.0 : 1.1);
  CHECK(stop_reason(seconds, 1.9, {}) == StopReason::go_on);
  CHECK(stop_reason(seconds, 2.0, {}) == StopReason::out_of_time);
}

TEST_CASE("one very slow sample is enough to run out of time, none is not") {
  CHECK(stop_reason({5.0}, 5.0, {}) == StopReason::out_of_time);
  CHECK(stop_reason({}, 5.0, {}) == StopReason::go_on);
}

TEST_CASE("sampling returns the summary of what it sampled") {
  double next = 0.0;
  const TimingSummary summary =
      sample_until_settled([&] { return Timing{next += 1.0}; },
                           {.min_samples = 21, .half_width = 1.0, .max_seconds = 1e9});
  CHECK(summary.samples == 21);
  CHECK(summary.median_s == relative(11.0));
}

TEST_CASE("disturbed timings are left out, unless there are hardly any others") {
  const StoppingRule rule{.min_samples = 10, .half_width = 1.0, .max_seconds = 1e9};
  int next = 0;
  const TimingSummary summary = sample_until_settled(
      [&] {
        const bool disturbed = next++ % 3 == 0;
        return Timing{disturbed ? 9.0 : 1.0, disturbed};
      },
      rule);
  CHECK(summary.samples == 10);
  CHECK(summary.p95_s == 1.0);
  CHECK_FALSE(summary.disturbed);
  const TimingSummary only_disturbed = sample_until_settled(
      [&] {
        return Timing{2.0, true};
      },
      {.min_samples = 10, .half_width = 1.0, .max_seconds = 0.0});
  CHECK(only_disturbed.median_s == 2.0);
  CHECK(only_disturbed.disturbed);
}

TEST_CASE("either rate moving beyond the limit is a change of the machine") {
  const Reference before{50e9, 400e9};
  CHECK_FALSE(reference_moved(before, {51e9, 404e9}, 0.03));
  CHECK(reference_moved(before, {31e9, 400e9}, 0.03));
  CHECK(reference_moved(before, {50e9, 200e9}, 0.03));
  CHECK_FALSE(reference_moved({0.0, 0.0}, before, 0.03));
}

/// Looks at a machine whose read bandwidth follows a recorded series.
struct Recorded {
  std::vector<double> reads;
  std::size_t next = 0;
  Reference operator()() { return {reads[next++], 1.0}; }
};

TEST_CASE("a point whose machine flips from 31 to 55 GB/s is measured again") {
  Recorded look{{31e9, 55e9, 54.8e9}};
  int points = 0;
  const SteadyTiming result = time_steadily([&] { return look(); },
                                            [&] {
                                              ++points;
                                              return summarize({static_cast<double>(points)});
                                            },
                                            {});
  CHECK(points == 2);
  CHECK(result.redone == 1);
  CHECK(result.steady);
  CHECK(result.timing.median_s == 2.0);
  CHECK(result.reference.read_bandwidth == relative(54.9e9));
}

TEST_CASE("a machine that never holds still is given up on, and said so") {
  Recorded look{{1.0, 2.0, 1.0, 2.0, 1.0, 2.0}};
  int points = 0;
  const SteadyTiming result = time_steadily([&] { return look(); },
                                            [&] {
                                              ++points;
                                              return summarize({1.0});
                                            },
                                            {.limit = 0.03, .max_retries = 3});
  CHECK(points == 4);
  CHECK(result.redone == 3);
  CHECK_FALSE(result.steady);
}

TEST_CASE("timings during which the machine changed do not count, and do not end the sampling") {
  // Looks between timings: steady at 50, a jump, steady at 25.
  Recorded look{{50.0, 50.0, 50.0, 25.0, 25.0, 25.0, 25.0}};
  std::vector<double> seconds = {1.0, 1.0, 7.0, 2.0, 2.0, 2.2};
  std::size_t next = 0;
  const auto timings =
      time_in_pairs([&] { return look(); }, [&] { return Timing{seconds[next++]}; },
                    {.min_samples = 5, .half_width = 1.0, .max_seconds = 1e9}, 0.03);
  REQUIRE(timings.size() == 6);
  CHECK_FALSE(timings[2].steady);
  CHECK(timings[2].reference.read_bandwidth == 37.5);
  CHECK(usable_timings(timings) == std::vector<std::size_t>{0, 1, 3, 4, 5});
  // seconds x bandwidth: 50, 50, 50, 50, 55; the slow machine's timings are no slower.
  CHECK(timings[middle_timing(timings, {0, 3, 5})].seconds *
            timings[middle_timing(timings, {0, 3, 5})].reference.read_bandwidth ==
        50.0);
  CHECK(middle_timing(timings, {5}) == 5);
}

TEST_CASE("a timing whose CPUs other work took does not count, however still the memory was") {
  std::vector<bool> disturbed = {false, true, false, false, false, false};
  std::size_t next = 0;
  const auto timings = time_in_pairs(
      [] {
        return Reference{50.0, 1.0};
      },
      [&] {
        return Timing{1.0, disturbed[next++]};
      },
      {.min_samples = 5, .half_width = 1.0, .max_seconds = 1e9}, 0.03);
  CHECK(usable_timings(timings) == std::vector<std::size_t>{0, 2, 3, 4, 5});
}

TEST_CASE("with fewer than five steady timings all of them count, and time ends the sampling") {
  Recorded look{{1.0, 2.0, 1.0}};
  const auto timings =
      time_in_pairs([&] { return look(); }, [] { return Timing{1.0}; },
                    {.min_samples = 1, .half_width = 1.0, .max_seconds = 0.0}, 0.03);
  REQUIRE(timings.size() == 1);
  CHECK(usable_timings(timings) == std::vector<std::size_t>{0});
}

}  // namespace
}  // namespace roofcast
