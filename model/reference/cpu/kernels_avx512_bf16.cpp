#include <immintrin.h>

#include <cstdint>
#include <iterator>
#include <numeric>

#include "model/reference/cpu/kernel_tables.hpp"
#include "model/reference/cpu/kernels_body.hpp"

namespace roofcast::detail {
namespace {

/// The bf16 values of 128 magnitudes as a table of low and one of high bytes, which is how bytes
/// are looked up.
struct BytePlanes {
  alignas(64) std::uint8_t low[128] = {};
  alignas(64) std::uint8_t high[128] = {};
};

consteval BytePlanes planes_of(const Magnitudes& magnitudes) {
  BytePlanes planes;
  for (int i = 0; i < 128; ++i) {
    planes.low[i] = static_cast<std::uint8_t>(magnitudes.bits[i] & 0xffU);
    planes.high[i] = static_cast<std::uint8_t>(magnitudes.bits[i] >> 8);
  }
  return planes;
}

constexpr BytePlanes kFp8E4m3Planes = planes_of(kFp8E4m3Magnitudes);
constexpr BytePlanes kInt8Planes = planes_of(kInt8Magnitudes);

/// Sixteen lanes with VDPBF16PS, which multiplies and adds a pair per lane, VPDPBUSD, which does
/// that for four unsigned and signed bytes, and VPERMI2B, which looks up 128 bytes.
struct Avx512Bf16 {
  static constexpr int kLanes = 16;
  static constexpr int kMaxRowTiles = 4;
  static constexpr int kGemmColumns[] = {0, 8, 8, 8, 6};
  /// One or two columns wait for memory, which one stream of weights keeps busiest; more columns
  /// wait for the loads of x, which row tiles share.
  static int row_tiles(std::int64_t batch) { return batch <= 2 ? 1 : (batch <= 6 ? 4 : 3); }
  static constexpr int kHeads = 4;
  static constexpr int kMixHeads = 2;
  static constexpr int kMixVectors = 8;
  static constexpr int kLatentHeads = 4;
  static constexpr int kLatentVectors = 2;

  static constexpr int kIntColumns = 8;
  static constexpr int kInt8Left = kInt8Bias;

  using Floats = __m512;
  using Pairs = __m512i;
  using Ints = __m512i;
  using Bytes = __m512i;

  static float to_float(Bf16 bits) {
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(bits) << 16)));
  }
  static Bf16 to_bf16(float value) {
    const auto bits =
        static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_castps_si128(_mm_set_ss(value))));
    return static_cast<Bf16>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
  }
  static Floats set(float x) { return _mm512_set1_ps(x); }
  static Floats zero() { return _mm512_setzero_ps(); }
  static Floats load(const float* at) { return _mm512_loadu_ps(at); }
  static void store(float* at, Floats x) { _mm512_storeu_ps(at, x); }
  static Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  static Floats sub(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
  static Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static Floats div(Floats a, Floats b) { return _mm512_div_ps(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static Floats max(Floats a, Floats b) { return _mm512_max_ps(a, b); }
  static Floats load_bf16(const Bf16* at) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static void store_bf16(Bf16* at, Floats x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), (__m256i)_mm512_cvtneps_pbh(x));
  }
  /// Two values of each lane as a pair, 16 pairs in order.
  static void store_pairs(Bf16* at, Floats first, Floats second) {
    const __m512i even = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(first));
    const __m512i odd = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(second));
    _mm512_storeu_si512(at, _mm512_or_si512(even, _mm512_slli_epi32(odd, 16)));
  }
  static Pairs load_pairs(const Bf16* at) { return _mm512_loadu_si512(at); }
  static __m512i look_up(const std::uint8_t* table, __m512i index) {
    return _mm512_permutex2var_epi8(_mm512_load_si512(table), index, _mm512_load_si512(table + 64));
  }
  /// The values of 64 bytes: of each 16 the first eight, and the others.
  template <KvCode C>
  static void load_bytes(const std::byte* at, Pairs& first, Pairs& second) {
    constexpr const BytePlanes& kPlanes = C == KvCode::fp8_e4m3 ? kFp8E4m3Planes : kInt8Planes;
    const __m512i codes = _mm512_loadu_si512(at);
    const __m512i low = look_up(kPlanes.low, codes);
    // high | (codes & sign)
    const __m512i high = _mm512_ternarylogic_epi32(look_up(kPlanes.high, codes), codes,
                                                   _mm512_set1_epi8(-128), 0xf8);
    first = _mm512_unpacklo_epi8(low, high);
    second = _mm512_unpackhi_epi8(low, high);
  }
  static Pairs set_pair(const Bf16* at) {
    int both = 0;
    __builtin_memcpy(&both, at, sizeof both);
    return _mm512_set1_epi32(both);
  }
  static Pairs set_group(const Bf16* at) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  /// Pairs (a[i], b[i]) of 32 elements each, the first 16 to `low`.
  static void load_interleaved(const Bf16* a, const Bf16* b, Pairs& low, Pairs& high) {
    const __m512i x = _mm512_loadu_si512(a);
    const __m512i y = _mm512_loadu_si512(b);
    const __m512i step = _mm512_set1_epi32(0x00010001);
    const __m512i first =
        _mm512_set_epi32(0x002f000f, 0x002e000e, 0x002d000d, 0x002c000c, 0x002b000b, 0x002a000a,
                         0x00290009, 0x00280008, 0x00270007, 0x00260006, 0x00250005, 0x00240004,
                         0x00230003, 0x00220002, 0x00210001, 0x00200000);
    const __m512i second = _mm512_add_epi16(first, _mm512_slli_epi16(step, 4));
    low = _mm512_permutex2var_epi16(x, first, y);
    high = _mm512_permutex2var_epi16(x, second, y);
  }
  static Floats dot(Floats acc, Pairs a, Pairs b) {
    return _mm512_dpbf16_ps(acc, (__m512bh)a, (__m512bh)b);
  }
  static Floats low(Pairs x) { return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16)); }
  static Floats high(Pairs x) {
    return _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32(-65536)));
  }
  static Floats load_half(const std::byte* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }
  template <int kFactor>  // a power of two
  static Ints multiple(const std::int32_t* at) {
    return _mm512_slli_epi32(_mm512_set1_epi32(*at), __builtin_ctz(kFactor));
  }
  static Floats to_floats(Ints x) { return _mm512_cvtepi32_ps(x); }
  static Ints nearest(Floats x) { return _mm512_cvtps_epi32(x); }
  static void store_codes(std::int8_t* at, Ints x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm512_cvtepi32_epi8(x));
  }
  static Bytes load_words(const std::byte* at) { return _mm512_loadu_si512(at); }
  static Bytes low_halves(Bytes x) { return _mm512_and_si512(x, _mm512_set1_epi8(15)); }
  static Bytes high_halves(Bytes x) { return low_halves(_mm512_srli_epi16(x, 4)); }
  static Ints dot_int8(Ints acc, Bytes w, const std::int8_t* x) {
    int four = 0;
    __builtin_memcpy(&four, x, sizeof four);
    return _mm512_dpbusd_epi32(acc, w, _mm512_set1_epi32(four));
  }
  static Ints dot_int4(Ints acc, Bytes w, const std::int8_t* x) { return dot_int8(acc, w, x); }
  /// Adds the four lanes of each quarter of a, b, c, d, in the order of memory: those of a first.
  static Floats add_groups(Floats a, Floats b, Floats c, Floats d) {
    const Floats ab = add(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));  // a02 b02 a13 b13
    const Floats cd = add(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    const __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
    const __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
    const Floats sums = add(_mm512_castpd_ps(low), _mm512_castpd_ps(high));  // per quarter: a b c d
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_ps(order, sums);
  }
  static float horizontal_sum(Floats x) { return _mm512_reduce_add_ps(x); }
  static float horizontal_max(Floats x) { return _mm512_reduce_max_ps(x); }
  /// exp(x) by 2^n times a polynomial on |r| <= ln 2 / 2.
  static Floats exp(Floats x) {
    x = _mm512_min_ps(_mm512_max_ps(x, set(-100.0F)), set(88.0F));
    const Floats n = _mm512_roundscale_ps(mul(x, set(1.44269504F)),
                                          _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    Floats r = _mm512_fnmadd_ps(n, set(0.693359375F), x);
    r = _mm512_fnmadd_ps(n, set(-2.12194440e-4F), r);
    Floats p = set(1.0F / 720.0F);
    p = fma(p, r, set(1.0F / 120.0F));
    p = fma(p, r, set(1.0F / 24.0F));
    p = fma(p, r, set(1.0F / 6.0F));
    p = fma(p, r, set(0.5F));
    p = fma(p, r, set(1.0F));
    p = fma(p, r, set(1.0F));
    return _mm512_scalef_ps(p, n);
  }
  static float exp_scalar(float x) { return _mm512_cvtss_f32(exp(set(x))); }

  static std::uint32_t read(const std::byte* data, std::size_t bytes) {
    constexpr std::size_t kStreams = 8;
    __m512i sums[kStreams];
    for (__m512i& sum : sums) sum = _mm512_setzero_si512();
    for (std::size_t i = 0; i < bytes; i += kStreams * sizeof(__m512i)) {
#pragma GCC unroll 8
      for (std::size_t s = 0; s < kStreams; ++s)
        sums[s] = _mm512_add_epi32(sums[s], _mm512_loadu_si512(data + i + s * sizeof(__m512i)));
    }
    __m512i total = _mm512_setzero_si512();
    for (const __m512i& sum : sums) total = _mm512_add_epi32(total, sum);
    // g++ writes _mm512_reduce_add_epi32 as a sum of ints, which may not overflow; unsigned may
    // wrap.
    alignas(64) std::uint32_t lanes[16];
    _mm512_store_si512(lanes, total);
    return std::accumulate(std::begin(lanes), std::end(lanes), std::uint32_t{0});
  }
};

}  // namespace

const Kernels& avx512_bf16_kernels() {
  static const Kernels kernels = make_kernels<Avx512Bf16>(IsaLevel::avx512_bf16);
  return kernels;
}

}  // namespace roofcast::detail
