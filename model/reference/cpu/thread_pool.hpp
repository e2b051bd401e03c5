#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "model/reference/cpu/spin_barrier.hpp"

namespace roofcast {

/// A contiguous part of something.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

/// Part `index` of `parts` of `total` items; sizes differ by at most one.
constexpr Range part_of(std::int64_t total, int index, int parts) {
  return {total * index / parts, total * (index + 1) / parts};
}

/// Threads that live as long as the pool, each pinned to one CPU. A region runs on all of them;
/// inside it they meet at the barrier. Threads sleep between regions.
class ThreadPool {
 public:
  /// One thread per entry, pinned to that CPU; a negative entry is not pinned. A CPU that cannot be
  /// had is left to the system. Throws std::invalid_argument without entries.
  explicit ThreadPool(std::vector<int> cpus);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  int size() const { return static_cast<int>(threads_.size()); }
  const std::vector<int>& cpus() const { return cpus_; }
  /// Threads that the system moves between CPUs, by wish or because it refused to pin them. Known
  /// once the first region has run.
  int unpinned() const { return unpinned_.load(std::memory_order_relaxed); }

  /// Runs body(thread) on every thread and returns when all are done. An exception of a body that
  /// reaches here is thrown again; a body that throws must not leave others at the barrier.
  void run(const std::function<void(int thread)>& body);

  /// To be called by every thread of a region.
  void barrier() { barrier_.wait(); }

 private:
  void work(int thread);

  std::vector<int> cpus_;
  SpinBarrier barrier_;
  const std::function<void(int)>* body_ = nullptr;
  alignas(64) std::atomic<unsigned> region_{0};
  alignas(64) std::atomic<int> running_{0};
  std::atomic<int> unpinned_{0};
  bool stop_ = false;
  std::vector<std::exception_ptr> errors_;
  std::vector<std::thread> threads_;
};

/// CPUs for a pool of `count` threads: one per physical core of this machine, and unpinned threads
/// when more are asked for than there are; 0 means all cores.
std::vector<int> pool_cpus(int count);

}  // namespace roofcast
