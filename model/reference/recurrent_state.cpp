#include "model/reference/recurrent_state.hpp"

#include <cstring>
#include <string>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

std::int64_t bf16_per_element(StateFormat format) { return format == StateFormat::fp32 ? 2 : 1; }

}  // namespace

StateFormat state_format(const Formats& formats) {
  const Storage& storage = formats[Component::state];
  if (storage == storage_of(*find_format("fp32"))) return StateFormat::fp32;
  if (storage == storage_of(*find_format("bf16"))) return StateFormat::bf16;
  throw UnsupportedError("the reference engine has no kernel for a recurrent state in " +
                         std::string(storage.format.name()) + " (fp32 and bf16 only)");
}

RecurrentState::RecurrentState(std::int64_t sequences, std::int64_t heads, std::int64_t key_dim,
                               std::int64_t value_dim, StateFormat format, Arenas& arenas)
    : sequences_(sequences),
      heads_(heads),
      key_dim_(key_dim),
      value_dim_(value_dim),
      format_(format),
      vectors_(arenas.size(), StepVectors(key_dim, value_dim)) {
  const int threads = static_cast<int>(arenas.size());
  for (int thread = 0; thread < threads; ++thread) {
    const Range own = part_of(sequences * heads, thread, threads);
    for (std::int64_t item = own.begin; item < own.end; ++item)
      states_.push_back(
          arenas[static_cast<std::size_t>(thread)].take(elements() * bf16_per_element(format)));
  }
}

void RecurrentState::fill(int thread, int threads, std::uint64_t seed) {
  const Range own = part_of(items(), thread, threads);
  for (std::int64_t item = own.begin; item < own.end; ++item) {
    // The upper half of an fp32 value is a bf16 value, and any lower half will do.
    fill_random(seed * 1000003U + static_cast<std::uint64_t>(item),
                states_[static_cast<std::size_t>(item)], elements() * bf16_per_element(format_));
  }
}

float RecurrentState::at(std::int64_t item, std::int64_t key, std::int64_t value) const {
  const std::int64_t place =
      (value / kStateColumns * key_dim_ + key) * kStateColumns + value % kStateColumns;
  const Bf16* const state = states_[static_cast<std::size_t>(item)];
  if (format_ == StateFormat::bf16) return bf16_to_float(state[place]);
  float element = 0.0F;
  std::memcpy(&element, state + 2 * place, sizeof element);
  return element;
}

RecurrenceReads RecurrentState::run(StepContext& step, int thread, int op, RecurrenceTask& task) {
  task.sequences = sequences_;
  task.heads = heads_;
  task.key_dim = key_dim_;
  task.value_dim = value_dim_;
  task.format = format_;
  task.state = [this](std::int64_t item) { return state(item); };
  const RecurrenceReads reads = run_recurrence(task, step.kernels, thread, step.pool.size(),
                                               vectors_[static_cast<std::size_t>(thread)]);
  Traffic& bytes = step.recorder.bytes(thread, op);
  bytes.state += bf16_bytes(2 * reads.items * elements() * bf16_per_element(format_));
  bytes.activations += bf16_bytes(2 * reads.items * value_dim_ + 2 * reads.keys * key_dim_);
  return reads;
}

}  // namespace roofcast
