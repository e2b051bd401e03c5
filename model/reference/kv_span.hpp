#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace roofcast {

/// Which tokens of a sequence one layer keeps and attends to: all of them, the last `size` (the
/// newest included), or those of the newest's chunk of `size` tokens. Either way the cache is a
/// ring of at most `size` slots: a token goes to slot position mod size, where the window's oldest
/// token leaves and where a chunk starts over. What a step attends to is then always the slots
/// [0, filled): in a window that wrapped they are out of order, which a softmax does not see.
struct KvSpan {
  enum class Kind { whole, window, chunk };

  Kind kind = Kind::whole;
  std::int64_t size = std::numeric_limits<std::int64_t>::max();  // >= 1

  /// Slots for a sequence of at most `capacity` tokens.
  std::int64_t slots(std::int64_t capacity) const { return std::min(capacity, size); }

  /// Slot of the token at `position`.
  std::int64_t slot(std::int64_t position) const { return position % size; }

  /// Slots that the token at `position` attends to, its own included.
  std::int64_t filled(std::int64_t position) const {
    return kind == Kind::window ? std::min(position, size - 1) + 1 : position % size + 1;
  }

  /// Cached tokens that attention reads from memory at `position`. The newest is not one of them
  /// where it made the cache longer, as it was written a moment ago. In a full window it took
  /// the slot of the token that left, and the ring is read whole, as the operator list has it.
  std::int64_t tokens_read(std::int64_t position) const {
    const bool wrapped = kind == Kind::window && position >= size;
    return filled(position) - (wrapped ? 0 : 1);
  }
};

}  // namespace roofcast
