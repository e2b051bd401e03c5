#pragma once

#include <cstdint>
#include <vector>

#include "model/architecture/formats.hpp"
#include "model/reference/cpu/packed_matrix.hpp"
#include "model/reference/cpu/split_recurrence.hpp"
#include "model/reference/step_context.hpp"

namespace roofcast {

/// Format of recurrent states. Throws UnsupportedError, naming it, for what no kernel reads.
StateFormat state_format(const Formats& formats);

/// Matrix states of one layer. An item is one head of one sequence (sequence-major); threads own
/// contiguous runs of items, whose memory lies in their arenas.
class RecurrentState {
 public:
  RecurrentState() = default;
  RecurrentState(std::int64_t sequences, std::int64_t heads, std::int64_t key_dim,
                 std::int64_t value_dim, StateFormat format, Arenas& arenas);

  std::int64_t items() const { return static_cast<std::int64_t>(states_.size()); }
  StateFormat format() const { return format_; }

  /// Fills all items of `thread` with +-[0.5, 1); to be called by that thread.
  void fill(int thread, int threads, std::uint64_t seed);

  void* state(std::int64_t item) const { return states_[static_cast<std::size_t>(item)]; }
  float at(std::int64_t item, std::int64_t key, std::int64_t value) const;

  /// Runs the share of one thread of `task`, whose shapes and state come from here, as operator
  /// `op`, and counts its state and activations.
  RecurrenceReads run(StepContext& step, int thread, int op, RecurrenceTask& task);

 private:
  std::int64_t elements() const { return key_dim_ * value_dim_; }

  std::int64_t sequences_ = 0, heads_ = 0, key_dim_ = 0, value_dim_ = 0;
  StateFormat format_ = StateFormat::fp32;
  std::vector<Bf16*> states_;         // (value_dim / 16, key_dim, 16); in fp32 two each
  std::vector<StepVectors> vectors_;  // by thread
};

}  // namespace roofcast
