#include <immintrin.h>

#include "model/reference/cpu/kernel_tables.hpp"
#include "model/reference/cpu/kernels_body.hpp"

namespace roofcast::detail {
namespace {

/// Bytes of the bf16 values of E4M3 numbers: the low and the high byte of subnormals by their
/// mantissa, and the high byte of normal ones by the code's upper nibble.
struct NibbleTables {
  alignas(16) std::uint8_t subnormal_low[16] = {};
  alignas(16) std::uint8_t subnormal_high[16] = {};
  alignas(16) std::uint8_t normal_high[16] = {};
};

consteval NibbleTables fp8_e4m3_nibbles() {
  NibbleTables tables;
  for (int i = 0; i < 8; ++i) {
    tables.subnormal_low[i] = static_cast<std::uint8_t>(kFp8E4m3Magnitudes.bits[i] & 0xffU);
    tables.subnormal_high[i] = static_cast<std::uint8_t>(kFp8E4m3Magnitudes.bits[i] >> 8);
    // 0x3c and more: an exponent of 120 in bf16. Bit 3 of the nibble is the sign, added apart.
    tables.normal_high[i] = tables.normal_high[i + 8] = static_cast<std::uint8_t>(0x3c + i);
  }
  return tables;
}

constexpr NibbleTables kFp8E4m3Nibbles = fp8_e4m3_nibbles();

/// Eight lanes. A bf16 value becomes fp32 by a shift, so a pair costs two shifts or masks and two
/// multiply-adds.
struct Avx2 {
  static constexpr int kLanes = 8;
  static constexpr int kMaxRowTiles = 1;
  static constexpr int kGemmColumns[] = {0, 4};
  static int row_tiles(std::int64_t) { return 1; }
  static constexpr int kHeads = 2;
  static constexpr int kMixHeads = 2;
  static constexpr int kMixVectors = 4;
  static constexpr int kLatentHeads = 4;
  static constexpr int kLatentVectors = 1;

  static constexpr int kIntColumns = 2;
  static constexpr int kInt8Left = 0;

  using Floats = __m256;
  using Pairs = __m256i;
  using Ints = __m256i;
  using Bytes = __m256i;

  static float to_float(Bf16 bits) {
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(bits) << 16)));
  }
  static Bf16 to_bf16(float value) {
    const auto bits =
        static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_castps_si128(_mm_set_ss(value))));
    return static_cast<Bf16>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
  }
  static Floats set(float x) { return _mm256_set1_ps(x); }
  static Floats zero() { return _mm256_setzero_ps(); }
  static Floats load(const float* at) { return _mm256_loadu_ps(at); }
  static void store(float* at, Floats x) { _mm256_storeu_ps(at, x); }
  static Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
  static Floats sub(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
  static Floats mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  static Floats div(Floats a, Floats b) { return _mm256_div_ps(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
  static Floats max(Floats a, Floats b) { return _mm256_max_ps(a, b); }
  static Floats load_bf16(const Bf16* at) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  /// The nearest bf16 values in the upper halves of the lanes; the lower halves are left over.
  static __m256i rounded(Floats x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  }
  static void store_bf16(Bf16* at, Floats x) {
    const __m256i high = _mm256_srli_epi32(rounded(x), 16);
    const __m128i packed =
        _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), packed);
  }
  /// Two values of each lane as a pair, 8 pairs in order.
  static void store_pairs(Bf16* at, Floats first, Floats second) {
    const __m256i even = _mm256_srli_epi32(rounded(first), 16);
    const __m256i odd = _mm256_and_si256(rounded(second), _mm256_set1_epi32(-65536));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), _mm256_or_si256(even, odd));
  }
  static Pairs load_pairs(const Bf16* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  }
  /// The values of 32 bytes: of each 16 the first eight, and the others.
  template <KvCode C>
  static void load_bytes(const std::byte* at, Pairs& first, Pairs& second) {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    if constexpr (C == KvCode::fp8_e4m3)
      widen_fp8(codes, first, second);
    else
      widen_int8(codes, first, second);
  }
  /// A normal number has the exponent of bf16 less 120: its upper nibble gives the high byte, its
  /// lower one the low byte. Subnormals are looked up.
  static void widen_fp8(__m256i codes, Pairs& first, Pairs& second) {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i lower = _mm256_and_si256(codes, nibble);
    const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(codes, 4), nibble);
    const __m256i sign = _mm256_and_si256(codes, _mm256_set1_epi8(-128));
    const __m256i subnormal =
        _mm256_cmpeq_epi8(_mm256_and_si256(codes, _mm256_set1_epi8(0x78)), _mm256_setzero_si256());
    const __m256i low = _mm256_blendv_epi8(
        _mm256_slli_epi16(lower, 4), look_up(kFp8E4m3Nibbles.subnormal_low, lower), subnormal);
    const __m256i high =
        _mm256_blendv_epi8(look_up(kFp8E4m3Nibbles.normal_high, upper),
                           look_up(kFp8E4m3Nibbles.subnormal_high, lower), subnormal);
    const __m256i signed_high = _mm256_or_si256(high, sign);
    first = _mm256_unpacklo_epi8(low, signed_high);
    second = _mm256_unpackhi_epi8(low, signed_high);
  }
  static __m256i look_up(const std::uint8_t (&table)[16], __m256i index) {
    return _mm256_shuffle_epi8(
        _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table))),
        index);
  }
  static void widen_int8(__m256i codes, Pairs& first, Pairs& second) {
    const __m256i magnitudes = _mm256_and_si256(codes, _mm256_set1_epi8(0x7f));
    const __m256i values = _mm256_sign_epi8(magnitudes, codes);
    first = to_pairs(_mm256_unpacklo_epi8(_mm256_setzero_si256(), values));
    second = to_pairs(_mm256_unpackhi_epi8(_mm256_setzero_si256(), values));
  }
  /// bf16 values of 8-bit integers in the upper halves of 16 bits: none has more than eight
  /// significant bits, so that the lower half of an fp32 value is zero.
  static Pairs to_pairs(__m256i values) {
    const __m256i even = _mm256_srai_epi32(_mm256_slli_epi32(values, 16), 24);
    const __m256i odd = _mm256_srai_epi32(values, 24);
    return _mm256_or_si256(_mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(even)), 16),
                           _mm256_castps_si256(_mm256_cvtepi32_ps(odd)));
  }
  static Pairs set_pair(const Bf16* at) {
    int both = 0;
    __builtin_memcpy(&both, at, sizeof both);
    return _mm256_set1_epi32(both);
  }
  static Pairs set_group(const Bf16* at) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  /// Pairs (a[i], b[i]) of 16 elements each, the first 8 to `first`.
  static void load_interleaved(const Bf16* a, const Bf16* b, Pairs& first, Pairs& second) {
    const Pairs x = load_pairs(a);
    const Pairs y = load_pairs(b);
    const Pairs outer = _mm256_unpacklo_epi16(x, y);  // 0 .. 3 and 8 .. 11
    const Pairs inner = _mm256_unpackhi_epi16(x, y);  // 4 .. 7 and 12 .. 15
    first = _mm256_permute2x128_si256(outer, inner, 0x20);
    second = _mm256_permute2x128_si256(outer, inner, 0x31);
  }
  static Floats low(Pairs x) { return _mm256_castsi256_ps(_mm256_slli_epi32(x, 16)); }
  static Floats high(Pairs x) {
    return _mm256_castsi256_ps(_mm256_and_si256(x, _mm256_set1_epi32(-65536)));
  }
  static Floats dot(Floats acc, Pairs a, Pairs b) {
    return _mm256_fmadd_ps(high(a), high(b), _mm256_fmadd_ps(low(a), low(b), acc));
  }
  static Floats load_half(const std::byte* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  template <int kFactor>  // zero or a power of two
  static Ints multiple(const std::int32_t* at) {
    if constexpr (kFactor == 0)
      return _mm256_setzero_si256();
    else
      return _mm256_slli_epi32(_mm256_set1_epi32(*at), __builtin_ctz(kFactor));
  }
  static Floats to_floats(Ints x) { return _mm256_cvtepi32_ps(x); }
  static Ints nearest(Floats x) { return _mm256_cvtps_epi32(x); }
  static void store_codes(std::int8_t* at, Ints x) {
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(at), _mm_packs_epi16(words, words));
  }
  static Bytes load_words(const std::byte* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  }
  static Bytes low_halves(Bytes x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
  static Bytes high_halves(Bytes x) { return low_halves(_mm256_srli_epi16(x, 4)); }
  static Bytes set_four(const std::int8_t* x) {
    int four = 0;
    __builtin_memcpy(&four, x, sizeof four);
    return _mm256_set1_epi32(four);
  }
  static Ints add_words(Ints acc, __m256i words) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(words, _mm256_set1_epi16(1)));
  }
  /// Unsigned times signed bytes add up in 16 bits: 255 x 127 twice would not fit, so the signs
  /// move to the weights.
  static Ints dot_int8(Ints acc, Bytes w, const std::int8_t* x) {
    const Bytes codes = set_four(x);
    const Bytes weights = _mm256_xor_si256(w, _mm256_set1_epi8(-128));
    return add_words(
        acc, _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(weights, codes)));
  }
  static Ints dot_int4(Ints acc, Bytes w, const std::int8_t* x) {
    return add_words(acc, _mm256_maddubs_epi16(w, set_four(x)));
  }
  /// Adds the four lanes of each half of a, b, c, d, in the order of memory: the two of a first.
  static Floats add_groups(Floats a, Floats b, Floats c, Floats d) {
    const Floats ab = _mm256_hadd_ps(a, b);  // per half: a01 a23 b01 b23
    const Floats cd = _mm256_hadd_ps(c, d);
    const Floats sums = _mm256_hadd_ps(ab, cd);  // per half: a b c d
    return _mm256_permutevar8x32_ps(sums, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
  static float horizontal_sum(Floats x) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
  }
  static float horizontal_max(Floats x) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
  }
  /// exp(x) by 2^n times a polynomial on |r| <= ln 2 / 2; clamped so that 2^n stays normal.
  static Floats exp(Floats x) {
    x = _mm256_min_ps(_mm256_max_ps(x, set(-87.0F)), set(88.0F));
    const Floats n =
        _mm256_round_ps(mul(x, set(1.44269504F)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    Floats r = _mm256_fnmadd_ps(n, set(0.693359375F), x);
    r = _mm256_fnmadd_ps(n, set(-2.12194440e-4F), r);
    Floats p = set(1.0F / 720.0F);
    p = fma(p, r, set(1.0F / 120.0F));
    p = fma(p, r, set(1.0F / 24.0F));
    p = fma(p, r, set(1.0F / 6.0F));
    p = fma(p, r, set(0.5F));
    p = fma(p, r, set(1.0F));
    p = fma(p, r, set(1.0F));
    const __m256i power =
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return mul(p, _mm256_castsi256_ps(power));
  }
  static float exp_scalar(float x) { return _mm256_cvtss_f32(exp(set(x))); }

  static std::uint32_t read(const std::byte* data, std::size_t bytes) {
    constexpr std::size_t kStreams = 8;
    __m256i sums[kStreams];
    for (__m256i& sum : sums) sum = _mm256_setzero_si256();
    for (std::size_t i = 0; i < bytes; i += kStreams * sizeof(__m256i)) {
#pragma GCC unroll 8
      for (std::size_t s = 0; s < kStreams; ++s) {
        const auto* at = reinterpret_cast<const __m256i*>(data + i + s * sizeof(__m256i));
        sums[s] = _mm256_add_epi32(sums[s], _mm256_loadu_si256(at));
      }
    }
    __m256i total = _mm256_setzero_si256();
    for (const __m256i& sum : sums) total = _mm256_add_epi32(total, sum);
    alignas(32) std::uint32_t lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), total);
    std::uint32_t result = 0;
    for (const std::uint32_t lane : lanes) result += lane;
    return result;
  }
};

}  // namespace

const Kernels& avx2_kernels() {
  static const Kernels kernels = make_kernels<Avx2>(IsaLevel::avx2);
  return kernels;
}

}  // namespace roofcast::detail
