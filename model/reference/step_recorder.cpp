#include "model/reference/step_recorder.hpp"

#include <algorithm>

namespace roofcast {

StepRecorder::StepRecorder(ThreadPool& pool, std::size_t operators)
    : pool_(pool),
      seconds_(operators, 0.0),
      bytes_(static_cast<std::size_t>(pool.size()), std::vector<Traffic>(operators)) {}

void StepRecorder::begin(int thread) {
  std::vector<Traffic>& own = bytes_[static_cast<std::size_t>(thread)];
  std::fill(own.begin(), own.end(), Traffic{});
  pool_.barrier();
  if (thread != 0) return;
  std::fill(seconds_.begin(), seconds_.end(), 0.0);
  first_ = last_ = Clock::now();
}

std::vector<Traffic> StepRecorder::operator_bytes() const {
  std::vector<Traffic> total(seconds_.size());
  for (const std::vector<Traffic>& thread : bytes_) {
    for (std::size_t i = 0; i < total.size(); ++i) {
      total[i].weights += thread[i].weights;
      total[i].kv_read += thread[i].kv_read;
      total[i].kv_write += thread[i].kv_write;
      total[i].state += thread[i].state;
      total[i].activations += thread[i].activations;
    }
  }
  return total;
}

}  // namespace roofcast
