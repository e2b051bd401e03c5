#pragma once

#include <chrono>
#include <vector>

#include "model/operators/operator.hpp"
#include "model/reference/cpu/thread_pool.hpp"

namespace roofcast {

/// Where the time of steps went and which bytes the kernels touched, by operator. Time is taken by
/// thread 0 between barriers, so an operator's time includes waiting for its slowest thread.
/// Bytes are counted by each thread from what it hands to its kernels, never from the model.
class StepRecorder {
 public:
  StepRecorder(ThreadPool& pool, std::size_t operators);

  /// By every thread of a region, before its first operator: forgets the step before.
  void begin(int thread);
  /// By every thread when its share of `op` is done.
  void finish(int thread, int op) {
    pool_.barrier();
    if (thread != 0) return;
    const Clock::time_point now = Clock::now();
    seconds_[static_cast<std::size_t>(op)] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }
  /// The counter of one thread for `op`.
  Traffic& bytes(int thread, int op) {
    return bytes_[static_cast<std::size_t>(thread)][static_cast<std::size_t>(op)];
  }

  /// Of the last step: from begin() to the last finish().
  double step_seconds() const { return std::chrono::duration<double>(last_ - first_).count(); }
  /// Of the last step, all layers of the operator together.
  const std::vector<double>& operator_seconds() const { return seconds_; }
  std::vector<Traffic> operator_bytes() const;

 private:
  using Clock = std::chrono::steady_clock;

  ThreadPool& pool_;
  Clock::time_point first_;
  Clock::time_point last_;
  std::vector<double> seconds_;
  std::vector<std::vector<Traffic>> bytes_;  // by thread, then operator
};

}  // namespace roofcast
