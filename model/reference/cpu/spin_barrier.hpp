#pragma once

#include <atomic>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <sched.h>

namespace roofcast {

/// One pause of a spinning thread.
inline void spin_pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Barrier of a fixed number of threads that spin: threads of a step wait for less than a system
/// call takes. Gives the CPU away after long spinning, since threads may outnumber the CPUs.
class SpinBarrier {
 public:
  explicit SpinBarrier(int threads) : threads_(threads) {}

  void wait() {
    const unsigned phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; phase_.load(std::memory_order_acquire) == phase; ++spins) {
      if (spins < kSpinsBeforeYield)
        spin_pause();
      else
        sched_yield();
    }
  }

 private:
  static constexpr int kSpinsBeforeYield = 2000;

  int threads_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<unsigned> phase_{0};
};

}  // namespace roofcast
