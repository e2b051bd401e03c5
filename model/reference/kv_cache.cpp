#include "model/reference/kv_cache.hpp"

#include <algorithm>

#include "model/reference/weights.hpp"

namespace roofcast {
namespace {

std::int64_t key_offset(std::int64_t head_dim, std::int64_t token, std::int64_t element) {
  const std::int64_t group =
      token / kKeyTokens * (head_dim / kKeyElements) + element / kKeyElements;
  return (group * kKeyTokens + token % kKeyTokens) * kKeyElements + element % kKeyElements;
}

std::int64_t value_offset(std::int64_t head_dim, std::int64_t token, std::int64_t element) {
  return (token / 2 * head_dim + element) * 2 + token % 2;
}

}  // namespace

KvCache::KvCache(std::int64_t sequences, std::int64_t kv_heads, std::int64_t head_dim,
                 std::int64_t capacity, Arenas& arenas)
    : head_dim_(head_dim), capacity_((capacity + kTokenStep - 1) / kTokenStep * kTokenStep) {
  const std::int64_t items = sequences * kv_heads;
  const int threads = static_cast<int>(arenas.size());
  for (int thread = 0; thread < threads; ++thread) {
    const Range own = part_of(items, thread, threads);
    for (std::int64_t item = own.begin; item < own.end; ++item) {
      keys_.push_back(arenas[static_cast<std::size_t>(thread)].take(capacity_ * head_dim_));
      values_.push_back(arenas[static_cast<std::size_t>(thread)].take(capacity_ * head_dim_));
    }
  }
}

void KvCache::fill(int thread, int threads, std::uint64_t seed) {
  const Range own = part_of(items(), thread, threads);
  for (std::int64_t item = own.begin; item < own.end; ++item) {
    const auto at = static_cast<std::size_t>(item);
    const std::uint64_t place = seed * 1000003U + 2 * static_cast<std::uint64_t>(item);
    fill_random(place, keys_[at], capacity_ * head_dim_);
    fill_random(place + 1, values_[at], capacity_ * head_dim_);
  }
}

void KvCache::append(std::int64_t item, std::int64_t token, const Bf16* key, const Bf16* value) {
  Bf16* const keys = keys_[static_cast<std::size_t>(item)];
  Bf16* const values = values_[static_cast<std::size_t>(item)];
  for (std::int64_t d = 0; d < head_dim_; d += kKeyElements)
    std::copy_n(key + d, kKeyElements, keys + key_offset(head_dim_, token, d));
  for (std::int64_t d = 0; d < head_dim_; ++d) values[value_offset(head_dim_, token, d)] = value[d];
}

float KvCache::key_at(std::int64_t item, std::int64_t token, std::int64_t element) const {
  return bf16_to_float(keys(item)[key_offset(head_dim_, token, element)]);
}

float KvCache::value_at(std::int64_t item, std::int64_t token, std::int64_t element) const {
  return bf16_to_float(values(item)[value_offset(head_dim_, token, element)]);
}

}  // namespace roofcast
