#pragma once

#include "model/reference/cpu/kernels.hpp"

// How weights of each kind come from memory into registers, for the GEMM bodies. See gemm_body.hpp
// for how these templates are used.
namespace roofcast::detail {

/// bf16: one step is a pair of k, multiplied as it is stored.
template <typename S>
struct Bf16Weights {
  using Input = typename S::Pairs;
  using Step = typename S::Pairs;
  static constexpr int kDepth = 2;                         // elements of k that one step multiplies
  static constexpr int kBytes = 4;                         // of one row in a step
  static constexpr int kVectorBytes = kBytes * S::kLanes;  // between vectors of a tile
  static constexpr int kUnroll = 2;  // steps with sums of their own where there is one column
  static constexpr int kMaxRowTiles = S::kMaxRowTiles;
  static int row_tiles(std::int64_t batch) { return S::row_tiles(batch); }
  static Step load(const std::byte* at) { return S::load_pairs(reinterpret_cast<const Bf16*>(at)); }
  /// Of a column whose pairs of k are kNextPair elements apart.
  template <int kNextPair>
  static Input input(const Bf16* x) {
    return S::set_pair(x);
  }
  static typename S::Floats dot(typename S::Floats acc, const Step& w, const Input& x) {
    return S::dot(acc, w, x);
  }
};

/// Row tiles for kinds that need more registers per tile than bf16.
template <typename S>
inline constexpr int kFewRowTiles = S::kMaxRowTiles < 2 ? S::kMaxRowTiles : 2;

/// fp8: four of k, widened to two pairs of bf16, which hold every E4M3 value exactly.
template <typename S>
struct Fp8Weights {
  struct Input {
    typename S::Pairs first, second;
  };
  using Step = Input;
  static constexpr int kDepth = 4;
  static constexpr int kBytes = 4;
  static constexpr int kVectorBytes = kBytes * S::kLanes;
  static constexpr int kUnroll = 4;
  static constexpr int kMaxRowTiles = kFewRowTiles<S>;
  static int row_tiles(std::int64_t batch) { return batch <= 2 ? 1 : kMaxRowTiles; }
  static Step load(const std::byte* at) {
    Step w;
    S::template load_bytes<KvCode::fp8_e4m3>(at, w.first, w.second);
    return w;
  }
  template <int kNextPair>
  static Input input(const Bf16* x) {
    return {S::set_pair(x), S::set_pair(x + kNextPair)};
  }
  static typename S::Floats dot(typename S::Floats acc, const Step& w, const Input& x) {
    return S::dot(S::dot(acc, w.first, x.first), w.second, x.second);
  }
};

/// fp32: two of k; inputs are widened.
template <typename S>
struct Fp32Weights {
  struct Input {
    typename S::Floats first, second;
  };
  using Step = Input;
  static constexpr int kDepth = 2;
  static constexpr int kBytes = 8;
  static constexpr int kVectorBytes = sizeof(float) * S::kLanes;
  static constexpr int kUnroll = 2;
  static constexpr int kMaxRowTiles = kFewRowTiles<S>;
  static int row_tiles(std::int64_t batch) { return batch <= 2 ? 1 : kMaxRowTiles; }
  static Step load(const std::byte* at) {
    return {S::load(reinterpret_cast<const float*>(at)),
            S::load(reinterpret_cast<const float*>(at) + kRowTile)};
  }
  template <int kNextPair>
  static Input input(const Bf16* x) {
    const typename S::Pairs both = S::set_pair(x);
    return {S::low(both), S::high(both)};
  }
  static typename S::Floats dot(typename S::Floats acc, const Step& w, const Input& x) {
    return S::fma(w.second, x.second, S::fma(w.first, x.first, acc));
  }
};

/// int8: a word of a row is four codes.
template <typename S>
struct Int8Weights {
  static constexpr int kWords = 1;            // of four codes, that one load gives
  static constexpr int kBias = S::kInt8Left;  // in sums of its products
  static void load(const std::byte* at, typename S::Bytes* words) { words[0] = S::load_words(at); }
  static typename S::Ints dot(typename S::Ints acc, typename S::Bytes w, const std::int8_t* x) {
    return S::dot_int8(acc, w, x);
  }
};

/// int4: a word of a row is eight codes, the first four in the low halves of its bytes.
template <typename S>
struct Int4Weights {
  static constexpr int kWords = 2;
  static constexpr int kBias = kInt4Bias;
  static void load(const std::byte* at, typename S::Bytes* words) {
    const typename S::Bytes both = S::load_words(at);
    words[0] = S::low_halves(both);
    words[1] = S::high_halves(both);
  }
  static typename S::Ints dot(typename S::Ints acc, typename S::Bytes w, const std::int8_t* x) {
    return S::dot_int4(acc, w, x);
  }
};

}  // namespace roofcast::detail
