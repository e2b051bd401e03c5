#include "model/reference/cpu/thread_pool.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

namespace roofcast {
namespace {

TEST_CASE("parts cover everything once and differ by at most one") {
  for (const std::int64_t total : {0, 1, 5, 64}) {
    for (const int parts : {1, 2, 3, 7}) {
      std::int64_t next = 0;
      for (int i = 0; i < parts; ++i) {
        const Range part = part_of(total, i, parts);
        CHECK(part.begin == next);
        CHECK(part.size() >= total / parts);
        CHECK(part.size() <= total / parts + 1);
        next = part.end;
      }
      CHECK(next == total);
    }
  }
}

TEST_CASE("threads of a region see after a barrier what all wrote before it") {
  constexpr int kRounds = 200;
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(std::vector<int>(static_cast<std::size_t>(threads), -1));
    std::vector<int> slots(static_cast<std::size_t>(threads), 0);
    std::vector<int> errors(slots.size(), 0);
    for (int region = 0; region < 3; ++region) {
      pool.run([&](int thread) {
        for (int round = 0; round < kRounds; ++round) {
          ++slots[static_cast<std::size_t>(thread)];
          pool.barrier();
          for (const int slot : slots)
            errors[static_cast<std::size_t>(thread)] += slot == slots[0] ? 0 : 1;
          pool.barrier();
        }
      });
    }
    for (const int slot : slots) CHECK(slot == 3 * kRounds);
    for (const int error : errors) CHECK(error == 0);
  }
}

TEST_CASE("an exception of a thread reaches the caller, and the pool lives on") {
  ThreadPool pool({-1, -1});
  CHECK_THROWS_AS(pool.run([](int thread) {
    if (thread == 1) throw std::runtime_error("no");
  }),
                  std::runtime_error);
  int ran = 0;
  pool.run([&](int thread) { ran += thread == 0 ? 1 : 0; });
  CHECK(ran == 1);
}

TEST_CASE("a pool without threads is refused") {
  CHECK_THROWS_AS(ThreadPool(std::vector<int>{}), std::invalid_argument);
}

TEST_CASE("more threads than cores are not pinned") {
  for (const int cpu : pool_cpus(1000)) CHECK(cpu == -1);
  CHECK(pool_cpus(1).size() == 1);
  CHECK_FALSE(pool_cpus(0).empty());
}

}  // namespace
}  // namespace roofcast
