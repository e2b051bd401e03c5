#pragma once

#include <cstdint>

namespace roofcast {

/// What is asked of the model: `batch` sequences decode together, each with `context` tokens in its
/// cache, and produce `output_tokens` more.
struct Workload {
  std::int64_t batch = 1;
  std::int64_t context = 4096;
  std::int64_t output_tokens = 1;
  int tp = 1;  // tensor-parallel ranks

  bool operator==(const Workload&) const = default;
};

}  // namespace roofcast
