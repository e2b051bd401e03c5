#include "microbench/shared/region_timer.hpp"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>

namespace roofcast {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSampleSeconds = 1e-3;
constexpr std::size_t kMaxNodes = 4096;
constexpr double kLeastCpuShare = 0.95;
constexpr std::size_t kLookBytes = std::size_t{64} << 20;  // per thread

/// Results go here, so that the compiler has to compute them.
std::atomic<std::uint32_t> sink{0};

}  // namespace

double seconds_per_node(ThreadPool& pool, std::size_t first_node, std::size_t nodes,
                        const NodeWork& work) {
  double seconds = 0.0;
  pool.run([&](int thread) {
    pool.barrier();
    const Clock::time_point start = Clock::now();
    for (std::size_t node = first_node; node < first_node + nodes; ++node) {
      work(thread, node);
      pool.barrier();
    }
    if (thread == 0) seconds = std::chrono::duration<double>(Clock::now() - start).count();
  });
  return seconds / static_cast<double>(nodes);
}

double process_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

bool lacked_cpu(double cpu_seconds, double seconds, int threads, double least_share) {
  return cpu_seconds < least_share * seconds * threads;
}

TimingSummary time_nodes(ThreadPool& pool, const NodeWork& work, const StoppingRule& rule) {
  std::size_t next = 0;
  seconds_per_node(pool, next++, 1, work);  // page tables, frequency, code
  const double pilot = seconds_per_node(pool, next++, 1, work);
  const double wanted = kSampleSeconds / std::max(pilot, 1e-9);
  const std::size_t nodes = std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, kMaxNodes);
  return sample_until_settled(
      [&] {
        const double before = process_cpu_seconds();
        const double seconds = seconds_per_node(pool, next, nodes, work);
        const double used = process_cpu_seconds() - before;
        next += nodes;
        return Timing{seconds, lacked_cpu(used, seconds * static_cast<double>(nodes), pool.size(),
                                          kLeastCpuShare)};
      },
      rule);
}

Reference look_at_machine(ThreadPool& pool, const Kernels& kernels, const RandomSlabs& slabs) {
  constexpr int kTries = 5;
  constexpr std::int64_t kRounds = 20000;
  const std::size_t bytes = std::min(slabs.bytes_per_thread(), kLookBytes);
  const auto threads = static_cast<double>(pool.size());
  std::vector<double> reads;
  std::vector<double> dots;
  for (int i = 0; i < kTries; ++i) {
    reads.push_back(seconds_per_node(pool, 0, 1, [&](int thread, std::size_t) {
      sink.fetch_add(kernels.read(slabs.data(thread), bytes), std::memory_order_relaxed);
    }));
    dots.push_back(seconds_per_node(pool, 0, 1, [&](int, std::size_t) {
      sink.fetch_add(kernels.dot_burst(kRounds) > 0.0F ? 1U : 0U, std::memory_order_relaxed);
    }));
  }
  return {.read_bandwidth = threads * static_cast<double>(bytes) / median(reads),
          .dot_rate =
              threads * static_cast<double>(kRounds) * kernels.dot_flops_per_round / median(dots)};
}

}  // namespace roofcast
