#include "model/reference/cpu/split_recurrence.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {
namespace {

void load(const RecurrenceTask& task, const Kernels& kernels, const Bf16* from,
          std::vector<float>& to) {
  if (task.silu_inputs) return kernels.silu(from, to.data(), static_cast<std::int64_t>(to.size()));
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = bf16_to_float(from[i]);
}

/// Scales a vector to length 1, but for a vector of zeros.
void make_unit(std::vector<float>& values) {
  constexpr float kEpsilon = 1e-6F;
  float squares = 0.0F;
  for (const float x : values) squares += x * x;
  const float factor = 1.0F / std::sqrt(squares + kEpsilon);
  for (float& x : values) x *= factor;
}

void load_key(const RecurrenceTask& task, const Kernels& kernels, std::int64_t sequence,
              std::int64_t key_head, StepVectors& v) {
  const std::int64_t at = key_head * task.key_dim;
  load(task, kernels, task.keys.data + sequence * task.keys.stride + at, v.key);
  load(task, kernels, task.queries.data + sequence * task.queries.stride + at, v.query);
  if (task.unit_keys) {
    make_unit(v.key);
    make_unit(v.query);
  }
  if (task.query_scale == 1.0F) return;
  for (float& x : v.query) x *= task.query_scale;
}

void run_item(const RecurrenceTask& task, const Kernels& kernels, std::int64_t item,
              StepVectors& v) {
  const std::int64_t sequence = item / task.heads;
  const std::int64_t head = item % task.heads;
  const HeadControl control = task.control(sequence, head);
  load(task, kernels, task.values.data + sequence * task.values.stride + head * task.value_dim,
       v.value);
  if (control.decays == nullptr) std::fill(v.decay.begin(), v.decay.end(), control.decay);
  kernels.recur({.state = task.state(item),
                 .format = task.format,
                 .rule = task.rule,
                 .key_dim = task.key_dim,
                 .value_dim = task.value_dim,
                 .key = v.key.data(),
                 .query = v.query.data(),
                 .decay = control.decays == nullptr ? v.decay.data() : control.decays,
                 .value = v.value.data(),
                 .strength = control.strength,
                 .out = v.out.data()});
  Bf16* const out = task.out + item * task.value_dim;
  for (std::size_t i = 0; i < v.out.size(); ++i)
    out[i] = float_to_bf16(v.out[i] + control.skip * v.value[i]);
}

}  // namespace

StepVectors::StepVectors(std::int64_t key_dim, std::int64_t value_dim)
    : key(static_cast<std::size_t>(key_dim)),
      query(key),
      decay(key),
      value(static_cast<std::size_t>(value_dim)),
      out(value) {}

RecurrenceReads run_recurrence(const RecurrenceTask& task, const Kernels& kernels, int thread,
                               int threads, StepVectors& vectors) {
  const Range own = part_of(task.sequences * task.heads, thread, threads);
  const std::int64_t sharing = task.heads / task.key_heads;
  RecurrenceReads reads{.items = own.size()};
  for (std::int64_t item = own.begin; item < own.end; ++item) {
    // Heads of one key follow each other.
    if (item == own.begin || item % sharing == 0) {
      load_key(task, kernels, item / task.heads, item % task.heads / sharing, vectors);
      ++reads.keys;
    }
    run_item(task, kernels, item, vectors);
  }
  return reads;
}

}  // namespace roofcast
