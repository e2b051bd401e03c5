#pragma once

#include <cstdint>

#include "model/reference/step_context.hpp"

namespace roofcast {

/// The attention or state part of a layer that has none. The engine leaves out its norms too.
class NoMixerBlock {
 public:
  void fill(int, const WeightSource&) {}
  void reserve(std::int64_t, int, Activations&) const {}
  RotaryKey rotary() const { return {}; }
  void make_cache(std::int64_t, std::int64_t, Arenas&) {}
  void fill_cache(int, int, std::uint64_t) {}
  void run(StepContext&, int) {}
};

/// The feed-forward part of a layer that has none.
class NoFfnBlock {
 public:
  void fill(int, const WeightSource&) {}
  void reserve(std::int64_t, int, Activations&) const {}
  void run(StepContext&, int) {}
};

}  // namespace roofcast
