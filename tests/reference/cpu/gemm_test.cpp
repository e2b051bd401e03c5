#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "model/reference/cpu/packed_matrix.hpp"
#include "tests/reference/cpu/random_values.hpp"

// Products of every weight format and instruction set against plain loops in double over the
// weights as they are stored.
namespace roofcast {
namespace {

double at(const std::vector<Bf16>& values, std::int64_t i) {
  return static_cast<double>(bf16_to_float(values[static_cast<std::size_t>(i)]));
}

struct GemmCase {
  std::int64_t rows, k, batch;
  bool bias;
};

/// Inputs as a product sees them, and how far each may be off because its code is in doubt.
struct ExactInputs {
  std::vector<double> values, doubt;
};

/// Inputs of integer weights are 8-bit codes: per block of 32 the nearest multiples of the largest
/// magnitude over 127. Where two multiples are equally near, either will do.
ExactInputs exact_inputs(const std::vector<Bf16>& x, bool as_codes) {
  ExactInputs exact;
  exact.doubt.assign(x.size(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i)
    exact.values.push_back(at(x, static_cast<std::int64_t>(i)));
  for (std::size_t first = 0; as_codes && first < x.size(); first += 32) {
    double largest = 0.0;
    for (std::size_t i = first; i < first + 32; ++i)
      largest = std::max(largest, std::fabs(exact.values[i]));
    const double scale = largest / 127.0;
    for (std::size_t i = first; i < first + 32 && scale > 0.0; ++i) {
      const double steps = exact.values[i] / scale;
      if (std::fabs(std::fabs(steps - std::floor(steps)) - 0.5) < 1e-4) exact.doubt[i] = scale;
      exact.values[i] = std::nearbyint(steps) * scale;
    }
  }
  return exact;
}

struct Product {
  PackedMatrix packed;
  std::vector<Bf16> x, bias, y;
};

Product run_product(const Kernels& kernels, const WeightFormat& format, const GemmCase& c,
                    Arenas& arenas) {
  const auto w = random_bf16(c.rows * c.k, 1.0F, 1);
  Product p{PackedMatrix(c.rows, c.k, format, arenas),
            random_bf16(c.batch * c.k, 1.0F, 2),
            random_bf16(c.rows, 1.0F, 3),
            {}};
  p.packed.fill(0, [&](std::int64_t row, Bf16* out) {
    for (std::int64_t j = 0; j < c.k; ++j) out[j] = w[static_cast<std::size_t>(row * c.k + j)];
  });
  p.y.resize(static_cast<std::size_t>(c.batch * c.rows));
  p.packed.multiply(kernels, 0, p.x.data(), c.batch, c.bias ? p.bias.data() : nullptr, p.y.data());
  return p;
}

/// Row `row` as stored, read by the format's own definition and not by a kernel.
std::vector<float> stored_row(const PackedMatrix& packed, std::int64_t row) {
  const WeightSlab slab = packed.weights(0);
  const std::int64_t first = row - row % kRowTile;
  std::vector<float> values(static_cast<std::size_t>(packed.k()));
  load_row(slab.format, slab.data + first * packed.row_bytes(),
           std::min(kRowTile, packed.rows() - first), row - first,
           slab.row_scales == nullptr ? 1.0F : slab.row_scales[row], packed.k(), values.data());
  return values;
}

/// Largest |y - exact| over |exact| + the bound of fp32 summation: sum of |products| * k * 2^-24.
double worst_gemm_error(const Kernels& kernels, const WeightFormat& format, const GemmCase& c) {
  Arenas arenas(1);
  const Product p = run_product(kernels, format, c, arenas);
  const ExactInputs x = exact_inputs(p.x, is_integer(format.kind));
  double worst = 0.0;
  for (std::int64_t row = 0; row < c.rows; ++row) {
    const std::vector<float> w = stored_row(p.packed, row);
    for (std::int64_t b = 0; b < c.batch; ++b) {
      double sum = c.bias ? at(p.bias, row) : 0.0;
      double magnitude = std::fabs(sum);
      double doubt = 0.0;
      for (std::int64_t j = 0; j < c.k; ++j) {
        const auto weight = static_cast<double>(w[static_cast<std::size_t>(j)]);
        const auto input = static_cast<std::size_t>(b * c.k + j);
        sum += weight * x.values[input];
        magnitude += std::fabs(weight * x.values[input]);
        doubt += std::fabs(weight) * x.doubt[input];
      }
      const double allowed = std::fabs(sum) * kBf16Epsilon + doubt +
                             magnitude * static_cast<double>(c.k) * std::ldexp(1.0, -24);
      const double error = std::fabs(at(p.y, b * c.rows + row) - sum);
      worst = std::max(
          worst, std::isfinite(error) ? error / allowed : std::numeric_limits<double>::infinity());
    }
  }
  return worst;
}

void check_products(const WeightFormat& format, const std::vector<GemmCase>& cases) {
  for (const IsaLevel isa : supported_isas()) {
    for (const GemmCase& c : cases) {
      CAPTURE(format.name);
      CAPTURE(isa_name(isa));
      CAPTURE(c.rows);
      CAPTURE(c.k);
      CAPTURE(c.batch);
      CHECK(worst_gemm_error(kernels_for(isa), format, c) <= 1.0);
    }
  }
}

TEST_CASE("matrix products agree with double sums at every size of batch, tile and depth") {
  check_products(kBf16Weights, {{16, 2, 1, false},
                                {48, 64, 1, true},
                                {64, 96, 3, false},
                                {37, 34, 5, true},
                                {5, 8, 2, true},
                                {112, 128, 8, false},
                                {80, 4100, 9, false},
                                {33, 2050, 13, true},
                                {16, 4096, 64, true}});
}

TEST_CASE("matrix products of every weight format agree with double sums of the stored weights") {
  for (const char* name : {"fp32", "fp8_e4m3", "int8", "q8_0", "int4_g32", "q4_0", "int4_g128"}) {
    const WeightFormat format = find_weight_format(name).value();
    const std::int64_t least = format.width_step;
    check_products(format, {{16, least, 1, false},
                            {48, 128, 1, true},
                            {37, 256, 2, true},
                            {5, 128, 3, true},
                            {64, 384, 5, false},
                            {48, 128 + least % 128, 8, true},
                            {32, 2304, 9, true},
                            {16, 4096, 64, true}});
  }
}

TEST_CASE("inputs become the nearest multiples of their block's scale, zero blocks zeros") {
  for (const IsaLevel isa : supported_isas()) {
    CAPTURE(isa_name(isa));
    std::vector<Bf16> x = random_bf16(96, 3.0F, 4);
    std::fill(x.begin() + 32, x.begin() + 64, Bf16{0});
    x[70] = float_to_bf16(-8.0F);
    std::vector<std::int8_t> codes(96, 99);
    std::vector<float> scales(3);
    std::vector<std::int32_t> sums(3);
    GemmArgs args{.k = 96, .x = x.data(), .x_stride = 96, .batch = 1};
    args.codes = {codes.data(), scales.data(), sums.data()};
    kernels_for(isa).encode(args);
    for (std::size_t block = 0; block < 3; ++block) {
      std::int32_t sum = 0;
      for (std::size_t i = block * 32; i < block * 32 + 32; ++i) {
        const auto scale = static_cast<double>(scales[block]);
        CHECK(std::fabs(at(x, static_cast<std::int64_t>(i)) - scale * codes[i]) <= 0.5001 * scale);
        sum += codes[i];
      }
      CHECK(sums[block] == -sum);
    }
    CHECK(scales[1] == 0.0F);
    CHECK(codes[70] == -127);
    CHECK(scales[2] == 8.0F / 127.0F);
  }
}

TEST_CASE("a gathered row is the stored one rounded to bf16") {
  for (const char* name : {"bf16", "fp32", "fp8_e4m3", "int8", "q8_0", "q4_0", "int4_g128"}) {
    CAPTURE(name);
    Arenas arenas(1);
    const Product p = run_product(kernels_for(IsaLevel::portable), find_weight_format(name).value(),
                                  {21, 128, 1, false}, arenas);
    for (const std::int64_t row : {0, 15, 16, 20}) {
      const std::vector<float> stored = stored_row(p.packed, row);
      std::vector<Bf16> gathered(128);
      p.packed.gather_row(row, gathered.data());
      for (std::size_t j = 0; j < 128; ++j) CHECK(gathered[j] == float_to_bf16(stored[j]));
    }
  }
}

}  // namespace
}  // namespace roofcast
