#pragma once

#include "model/reference/cpu/kernels.hpp"

// See gemm_body.hpp for how these templates are used.
namespace roofcast::detail {

template <typename S>
typename S::Floats load_state(const float* at) {
  return S::load(at);
}
template <typename S>
typename S::Floats load_state(const Bf16* at) {
  return S::load_bf16(at);
}
template <typename S>
void store_state(float* at, typename S::Floats x) {
  S::store(at, x);
}
template <typename S>
void store_state(Bf16* at, typename S::Floats x) {
  S::store_bf16(at, x);
}

/// Vectors of one row of a block of columns, and rows whose sums run side by side: as many chains
/// of additions as hide their latency, in all instruction sets.
template <typename S>
inline constexpr int kStateVectors = kStateColumns / S::kLanes;
template <typename S>
inline constexpr int kStateRows = S::kLanes / 4;

/// The sums of a block's rows, one vector each.
template <typename S>
typename S::Floats add_rows(const typename S::Floats* sums) {
  typename S::Floats total = sums[0];
#pragma GCC unroll 4
  for (int r = 1; r < kStateRows<S>; ++r) total = S::add(total, sums[r]);
  return total;
}

/// Linear rule for the columns of one block, whose state is read, updated and written row by row.
template <typename S, typename Stored>
void linear_columns(const RecurrenceArgs& a, Stored* state, std::int64_t column) {
  constexpr int kVectors = kStateVectors<S>;
  constexpr int kRows = kStateRows<S>;
  typename S::Floats value[kVectors];
  typename S::Floats out[kVectors][kRows];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    value[v] = S::mul(S::load(a.value + column + v * S::kLanes), S::set(a.strength));
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) out[v][r] = S::zero();
  }
  for (std::int64_t i = 0; i < a.key_dim; i += kRows) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      Stored* const row = state + (i + r) * kStateColumns;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const typename S::Floats old = load_state<S>(row + v * S::kLanes);
        const typename S::Floats added = S::mul(value[v], S::set(a.key[i + r]));
        const typename S::Floats now = S::fma(old, S::set(a.decay[i + r]), added);
        store_state<S>(row + v * S::kLanes, now);
        out[v][r] = S::fma(now, S::set(a.query[i + r]), out[v][r]);
      }
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) S::store(a.out + column + v * S::kLanes, add_rows<S>(out[v]));
}

/// Factors of the rows of a state: what a decayed row counts for the key and for the query.
struct DecayedRows {
  alignas(64) float key[kMaxStateKeyDim];
  alignas(64) float query[kMaxStateKeyDim];
  float key_query;  // key . query
};

/// Sums over the rows of one block of the old state: decayed S^T key and decayed S^T query.
template <typename S, typename Stored>
void delta_sums(const RecurrenceArgs& a, const DecayedRows& rows, const Stored* state,
                typename S::Floats* by_key, typename S::Floats* by_query) {
  constexpr int kVectors = kStateVectors<S>;
  constexpr int kRows = kStateRows<S>;
  typename S::Floats key[kVectors][kRows];
  typename S::Floats query[kVectors][kRows];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) key[v][r] = query[v][r] = S::zero();
  }
  for (std::int64_t i = 0; i < a.key_dim; i += kRows) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const Stored* const row = state + (i + r) * kStateColumns;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const typename S::Floats old = load_state<S>(row + v * S::kLanes);
        key[v][r] = S::fma(old, S::set(rows.key[i + r]), key[v][r]);
        query[v][r] = S::fma(old, S::set(rows.query[i + r]), query[v][r]);
      }
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    by_key[v] = add_rows<S>(key[v]);
    by_query[v] = add_rows<S>(query[v]);
  }
}

/// Delta rule for the columns of one block. What a key recalls has to be known before any row may
/// change, so the block is read twice: once from memory, then from the nearest cache, while the
/// next block is on its way.
template <typename S, typename Stored>
void delta_columns(const RecurrenceArgs& a, const DecayedRows& rows, Stored* state,
                   std::int64_t column) {
  constexpr int kVectors = kStateVectors<S>;
  typename S::Floats recalled[kVectors];
  typename S::Floats out[kVectors];
  delta_sums<S>(a, rows, state, recalled, out);
  typename S::Floats change[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const typename S::Floats value = S::load(a.value + column + v * S::kLanes);
    change[v] = S::mul(S::sub(value, recalled[v]), S::set(a.strength));
    S::store(a.out + column + v * S::kLanes, S::fma(change[v], S::set(rows.key_query), out[v]));
  }
  const Stored* const next = state + a.key_dim * kStateColumns;
  for (std::int64_t i = 0; i < a.key_dim; ++i) {
    __builtin_prefetch(next + i * kStateColumns, 1);
    Stored* const row = state + i * kStateColumns;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const typename S::Floats old = load_state<S>(row + v * S::kLanes);
      const typename S::Floats added = S::mul(change[v], S::set(a.key[i]));
      store_state<S>(row + v * S::kLanes, S::fma(old, S::set(a.decay[i]), added));
    }
  }
}

template <typename S, typename Stored>
void recur_stored(const RecurrenceArgs& a, Stored* state) {
  const std::int64_t block = a.key_dim * kStateColumns;
  if (a.rule == StateRule::linear) {
    for (std::int64_t c = 0; c < a.value_dim; c += kStateColumns, state += block)
      linear_columns<S>(a, state, c);
    return;
  }
  DecayedRows rows;
  rows.key_query = 0.0F;
  for (std::int64_t i = 0; i < a.key_dim; ++i) {
    rows.key[i] = a.key[i] * a.decay[i];
    rows.query[i] = a.query[i] * a.decay[i];
    rows.key_query += a.key[i] * a.query[i];
  }
  for (std::int64_t c = 0; c < a.value_dim; c += kStateColumns, state += block)
    delta_columns<S>(a, rows, state, c);
}

template <typename S>
void recur(const RecurrenceArgs& a) {
  if (a.format == StateFormat::fp32)
    recur_stored<S>(a, static_cast<float*>(a.state));
  else
    recur_stored<S>(a, static_cast<Bf16*>(a.state));
}

}  // namespace roofcast::detail
