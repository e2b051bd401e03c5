#include "model/reference/kv_cache.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "model/reference/weights.hpp"

namespace roofcast {
namespace {

/// Element index of a key, and of a value, in an item's memory.
std::int64_t key_index(KvCode code, std::int64_t head_dim, std::int64_t token,
                       std::int64_t element) {
  const std::int64_t run = kKeyRunBytes / code_bytes(code);
  const std::int64_t tile = token / kKeyTokens * (head_dim / run) + element / run;
  return (tile * kKeyTokens + token % kKeyTokens) * run + element % run;
}

std::int64_t value_index(KvCode code, std::int64_t value_dim, std::int64_t token,
                         std::int64_t element) {
  if (code == KvCode::bf16) return (token / 2 * value_dim + element) * 2 + token % 2;
  const std::int64_t tile =
      token / kValueTokens * (value_dim / kValueElements) + element / kValueElements;
  const std::int64_t pair = tile * 2 + token % kValueTokens / 2;
  return (pair * kValueElements + element % kValueElements) * 2 + token % 2;
}

/// Stores the head_dim values of one token: those that lie together are neighbours in the head, a
/// run of keys, or every other element of a row of values.
void store_keys(const KvPlane& plane, std::int64_t head_dim, std::int64_t token, const Bf16* key,
                std::byte* data) {
  alignas(64) std::uint8_t codes[kMaxHeadDim];
  const void* from = key;
  if (plane.code != KvCode::bf16) {
    encode_bytes(plane.code, key, 1.0F / plane.scale, codes, head_dim);
    from = codes;
  }
  const std::int64_t bytes = code_bytes(plane.code);
  for (std::int64_t d = 0; d < head_dim; d += kKeyRunBytes / bytes)
    std::memcpy(data + key_index(plane.code, head_dim, token, d) * bytes,
                static_cast<const std::byte*>(from) + d * bytes, kKeyRunBytes);
}

void store_values(const KvPlane& plane, std::int64_t value_dim, std::int64_t token,
                  const Bf16* value, std::byte* data) {
  if (plane.code == KvCode::bf16) {
    Bf16* const row = reinterpret_cast<Bf16*>(data) + value_index(plane.code, value_dim, token, 0);
    for (std::int64_t d = 0; d < value_dim; ++d) row[2 * d] = value[d];
    return;
  }
  alignas(64) std::uint8_t codes[kMaxHeadDim];
  encode_bytes(plane.code, value, 1.0F / plane.scale, codes, value_dim);
  for (std::int64_t d = 0; d < value_dim; d += kValueElements) {
    std::byte* const row = data + value_index(plane.code, value_dim, token, d);
    for (std::int64_t i = 0; i < kValueElements; ++i) row[2 * i] = std::byte{codes[d + i]};
  }
}

float load(const KvPlane& plane, const std::byte* data, std::int64_t index) {
  if (plane.code != KvCode::bf16)
    return plane.scale * decode_byte(plane.code, static_cast<std::uint8_t>(data[index]));
  Bf16 value = 0;
  std::memcpy(&value, data + index * 2, sizeof value);
  return bf16_to_float(value);
}

/// Random elements of +-[0.5, 1) at the code's default scale.
void fill_plane(const KvPlane& plane, std::uint64_t seed, std::byte* data, std::int64_t n) {
  constexpr std::uint8_t kSignAndThreeBits = 0x87;
  if (plane.code == KvCode::bf16) return fill_random(seed, reinterpret_cast<Bf16*>(data), n);
  const std::uint8_t half = encode_byte(plane.code, 0.5F / default_kv_scale(plane.code));
  fill_random_bytes(seed, kSignAndThreeBits, half, reinterpret_cast<std::uint8_t*>(data), n);
}

std::vector<std::int32_t> shuffled_pages(std::int64_t count, std::int64_t sequence) {
  std::vector<std::int32_t> pages(static_cast<std::size_t>(count));
  std::iota(pages.begin(), pages.end(), 0);
  std::shuffle(pages.begin(), pages.end(),
               std::mt19937(static_cast<std::mt19937::result_type>(sequence + 1)));
  return pages;
}

}  // namespace

KvCache::KvCache(const KvLayout& layout, const KvShape& shape, Arenas& arenas)
    : layout_(layout), shape_(shape) {
  const std::int64_t step = std::max(layout.page_tokens, kTokenStep);
  const std::int64_t steps = (shape.capacity + step - 1) / step;
  shape_.capacity = steps * step;
  const int threads = static_cast<int>(arenas.size());
  for (int thread = 0; thread < threads; ++thread) {
    Arena& arena = arenas[static_cast<std::size_t>(thread)];
    const Range own = part_of(shape.sequences * shape.kv_heads, thread, threads);
    for (std::int64_t item = own.begin; item < own.end; ++item) {
      keys_.push_back(
          arena.take_bytes(shape_.capacity * shape.head_dim * code_bytes(layout.keys.code)));
      values_.push_back(
          arena.take_bytes(shape_.capacity * shape.value_dim * code_bytes(layout.values.code)));
    }
  }
  if (layout.page_tokens == 0) return;
  for (std::int64_t s = 0; s < shape.sequences; ++s) pages_.push_back(shuffled_pages(steps, s));
}

std::int64_t KvCache::place(std::int64_t item, std::int64_t token) const {
  if (pages_.empty()) return token;
  const std::int32_t page = pages(item / shape_.kv_heads)[token / layout_.page_tokens];
  return page * layout_.page_tokens + token % layout_.page_tokens;
}

void KvCache::fill(int thread, int threads, std::uint64_t seed) {
  const Range own = part_of(items(), thread, threads);
  // By runs of tokens in the order of the sequence, so that pages do not change what is in them.
  const std::int64_t run = kTokenStep;
  for (std::int64_t item = own.begin; item < own.end; ++item) {
    const auto at = static_cast<std::size_t>(item);
    for (std::int64_t token = 0; token < shape_.capacity; token += run) {
      const std::uint64_t where = seed * 1000003U + 2 * static_cast<std::uint64_t>(item) +
                                  static_cast<std::uint64_t>(token) * 0xd1342543de82ef95U;
      const std::int64_t first = place(item, token);
      fill_plane(layout_.keys, where,
                 keys_[at] + first * shape_.head_dim * code_bytes(layout_.keys.code),
                 run * shape_.head_dim);
      fill_plane(layout_.values, where + 1,
                 values_[at] + first * shape_.value_dim * code_bytes(layout_.values.code),
                 run * shape_.value_dim);
    }
  }
}

void KvCache::append(std::int64_t item, std::int64_t token, const Bf16* key, const Bf16* value) {
  const std::int64_t at = place(item, token);
  store_keys(layout_.keys, shape_.head_dim, at, key, keys_[static_cast<std::size_t>(item)]);
  store_values(layout_.values, shape_.value_dim, at, value,
               values_[static_cast<std::size_t>(item)]);
}

float KvCache::key_at(std::int64_t item, std::int64_t token, std::int64_t element) const {
  return load(layout_.keys, keys(item),
              key_index(layout_.keys.code, shape_.head_dim, place(item, token), element));
}

float KvCache::value_at(std::int64_t item, std::int64_t token, std::int64_t element) const {
  return load(layout_.values, values(item),
              value_index(layout_.values.code, shape_.value_dim, place(item, token), element));
}

}  // namespace roofcast
