#include <cstring>

#include "model/reference/cpu/kernel_tables.hpp"
#include "model/reference/cpu/kernels_body.hpp"

namespace roofcast::detail {
namespace {

/// Four lanes in the compilers' vector extension, for any machine. This is the interface that all
/// instruction sets give: Floats are kLanes fp32 values, Pairs are kLanes pairs of bf16 values, and
/// dot() multiplies pairwise and adds both products to the lane's sum. Bytes are four integer codes
/// per lane; dot_int8() and dot_int4() add their products with the four codes of an input to Ints.
struct Portable {
  static constexpr int kLanes = 4;
  static constexpr int kMaxRowTiles = 1;
  static constexpr int kGemmColumns[] = {0, 2};  // by row tiles: registers for sums
  static int row_tiles(std::int64_t) { return 1; }
  static constexpr int kHeads = 2;
  static constexpr int kMixHeads = 2;
  static constexpr int kMixVectors = 2;
  static constexpr int kLatentHeads = 2;
  static constexpr int kLatentVectors = 1;

  static constexpr int kIntColumns = 1;
  static constexpr int kInt8Left = 0;  // bias that dot_int8 leaves in its sums

  using Floats = float __attribute__((vector_size(16)));
  using Pairs = std::uint32_t __attribute__((vector_size(16)));
  using Ints = std::int32_t __attribute__((vector_size(16)));
  using Bytes = std::uint8_t __attribute__((vector_size(16)));

  static float to_float(Bf16 bits) {
    const auto wide = static_cast<std::uint32_t>(bits) << 16;
    float value = 0.0F;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  static Bf16 to_bf16(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<Bf16>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
  }
  static Floats set(float x) { return Floats{x, x, x, x}; }
  static Floats zero() { return set(0.0F); }
  static Floats load(const float* at) {
    Floats x;
    std::memcpy(&x, at, sizeof x);
    return x;
  }
  static void store(float* at, Floats x) { std::memcpy(at, &x, sizeof x); }
  static Floats add(Floats a, Floats b) { return a + b; }
  static Floats sub(Floats a, Floats b) { return a - b; }
  static Floats mul(Floats a, Floats b) { return a * b; }
  static Floats div(Floats a, Floats b) { return a / b; }
  static Floats fma(Floats a, Floats b, Floats c) { return a * b + c; }
  static Floats max(Floats a, Floats b) { return a > b ? a : b; }
  static Floats load_bf16(const Bf16* at) {
    return Floats{to_float(at[0]), to_float(at[1]), to_float(at[2]), to_float(at[3])};
  }
  static void store_bf16(Bf16* at, Floats x) {
    for (int i = 0; i < kLanes; ++i) at[i] = to_bf16(x[i]);
  }
  /// Two values of each lane as a pair, kLanes pairs in order.
  static void store_pairs(Bf16* at, Floats first, Floats second) {
    for (std::int64_t i = 0; i < kLanes; ++i) {
      at[2 * i] = to_bf16(first[i]);
      at[2 * i + 1] = to_bf16(second[i]);
    }
  }
  static Pairs load_pairs(const Bf16* at) {
    Pairs x;
    std::memcpy(&x, at, sizeof x);
    return x;
  }
  /// The values of 16 bytes: the first eight, and the others.
  template <KvCode C>
  static void load_bytes(const std::byte* at, Pairs& first, Pairs& second) {
    constexpr const Magnitudes& kAll = C == KvCode::fp8_e4m3 ? kFp8E4m3Magnitudes : kInt8Magnitudes;
    Bf16 values[16];
    for (int i = 0; i < 16; ++i) {
      const auto code = static_cast<std::uint32_t>(at[i]);
      values[i] = static_cast<Bf16>(kAll.bits[code & 0x7fU] | (code & 0x80U) << 8);
    }
    first = load_pairs(values);
    second = load_pairs(values + 8);
  }
  static Pairs set_pair(const Bf16* at) {
    std::uint32_t both = 0;
    std::memcpy(&both, at, sizeof both);
    return Pairs{both, both, both, both};
  }
  /// Pairs (a[i], b[i]) of 8 elements each, the first 4 to `low`.
  static void load_interleaved(const Bf16* a, const Bf16* b, Pairs& low, Pairs& high) {
    const auto pair = [a, b](int i) { return a[i] | static_cast<std::uint32_t>(b[i]) << 16; };
    low = Pairs{pair(0), pair(1), pair(2), pair(3)};
    high = Pairs{pair(4), pair(5), pair(6), pair(7)};
  }
  static Pairs set_group(const Bf16* at) { return load_pairs(at); }
  static Floats as_floats(Pairs bits) {
    Floats x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
  static Floats dot(Floats acc, Pairs a, Pairs b) {
    acc += as_floats(a << 16) * as_floats(b << 16);
    return acc + as_floats(a & 0xffff0000U) * as_floats(b & 0xffff0000U);
  }
  static Floats low(Pairs x) { return as_floats(x << 16); }
  static Floats high(Pairs x) { return as_floats(x & 0xffff0000U); }
  static float half_to_float(const std::byte* at) {
    std::uint16_t half = 0;
    std::memcpy(&half, at, sizeof half);
    const std::uint32_t sign = (half & 0x8000U) << 16;
    const std::uint32_t shifted = (half & 0x7fffU) << 13;
    float value = 0.0F;
    std::memcpy(&value, &shifted, sizeof value);
    return (sign != 0 ? -value : value) * 0x1p112F;  // finite, as scales are
  }
  static Floats load_half(const std::byte* at) {
    return Floats{half_to_float(at), half_to_float(at + 2), half_to_float(at + 4),
                  half_to_float(at + 6)};
  }
  /// kFactor times a whole number in every lane.
  template <int kFactor>
  static Ints multiple(const std::int32_t* at) {
    const std::int32_t x = kFactor * *at;
    return Ints{x, x, x, x};
  }
  static Floats to_floats(Ints x) { return __builtin_convertvector(x, Floats); }
  /// Nearest whole numbers of magnitudes below 2^22, ties to even.
  static Ints nearest(Floats x) {
    const Floats no_fraction = set(0x1.8p23F);  // sums near it are whole numbers
    return __builtin_convertvector((x + no_fraction) - no_fraction, Ints);
  }
  static void store_codes(std::int8_t* at, Ints x) {
    for (int i = 0; i < kLanes; ++i) at[i] = static_cast<std::int8_t>(x[i]);
  }
  static Bytes load_words(const std::byte* at) {
    Bytes x;
    std::memcpy(&x, at, sizeof x);
    return x;
  }
  static Bytes low_halves(Bytes x) { return x & 15; }
  static Bytes high_halves(Bytes x) { return x >> 4; }
  static Ints dot_biased(Ints acc, Bytes w, const std::int8_t* x, int bias) {
    for (int i = 0; i < kLanes; ++i) {
      for (int j = 0; j < 4; ++j) acc[i] += (w[4 * i + j] - bias) * x[j];
    }
    return acc;
  }
  static Ints dot_int8(Ints acc, Bytes w, const std::int8_t* x) {
    return dot_biased(acc, w, x, kInt8Bias);
  }
  static Ints dot_int4(Ints acc, Bytes w, const std::int8_t* x) { return dot_biased(acc, w, x, 0); }
  /// Lane i of the result is the sum of the four lanes of argument i.
  static Floats add_groups(Floats a, Floats b, Floats c, Floats d) {
    return Floats{horizontal_sum(a), horizontal_sum(b), horizontal_sum(c), horizontal_sum(d)};
  }
  static float horizontal_sum(Floats x) { return (x[0] + x[1]) + (x[2] + x[3]); }
  static float horizontal_max(Floats x) {
    const float low = x[0] > x[1] ? x[0] : x[1];
    const float high = x[2] > x[3] ? x[2] : x[3];
    return low > high ? low : high;
  }
  static float exp_scalar(float x) { return __builtin_expf(x); }
  static Floats exp(Floats x) {
    return Floats{exp_scalar(x[0]), exp_scalar(x[1]), exp_scalar(x[2]), exp_scalar(x[3])};
  }
  static std::uint32_t read(const std::byte* data, std::size_t bytes) {
    constexpr int kStreams = 8;
    Pairs sums[kStreams] = {};
    for (std::size_t i = 0; i < bytes; i += kStreams * sizeof(Pairs)) {
      for (std::size_t s = 0; s < kStreams; ++s) {
        Pairs x;
        std::memcpy(&x, data + i + s * sizeof x, sizeof x);
        sums[s] += x;
      }
    }
    Pairs total = {};
    for (const Pairs& sum : sums) total += sum;
    return total[0] + total[1] + total[2] + total[3];
  }
};

}  // namespace

const Kernels& portable_kernels() {
  static const Kernels kernels = make_kernels<Portable>(IsaLevel::portable);
  return kernels;
}

}  // namespace roofcast::detail
