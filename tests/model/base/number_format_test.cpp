#include "model/base/number_format.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace roofcast;

namespace {

struct Bits {
  std::string_view name;
  double bits;
};

/// Worked out from the published layouts: GGUF blocks from the struct sizes in ggml-common.h
/// (https://github.com/ggml-org/llama.cpp/blob/master/ggml/src/ggml-common.h), 8 x bytes /
/// elements.
const std::array kExpected = {
    Bits{"fp64", 64.0},
    Bits{"fp32", 32.0},
    Bits{"fp16", 16.0},
    Bits{"bf16", 16.0},
    Bits{"fp8_e4m3", 8.0},
    Bits{"fp8_e5m2", 8.0},
    // 8 + 32 / (128 x 128)
    Bits{"fp8_block128", 8.001953125},
    // OCP Microscaling v1.0: 8 (or 4) bits and one 8-bit scale per 32
    Bits{"mxfp8", 8.25},
    Bits{"mxfp4", 4.25},
    // 4 bits and one 8-bit scale per 16
    Bits{"nvfp4", 4.5},
    Bits{"int8", 8.0},
    Bits{"int16", 16.0},
    Bits{"int32", 32.0},
    Bits{"int64", 64.0},
    // 4 + 16 / 32, 4 + 16 / 128, 4 + (16 + 4) / 128
    Bits{"int4_g32", 4.5},
    Bits{"int4_g128", 4.125},
    Bits{"awq_g128", 4.15625},
    Bits{"gptq_g128", 4.15625},
    // 32 elements in 18, 20, 22, 24, 34, 36 bytes
    Bits{"q4_0", 4.5},
    Bits{"q4_1", 5.0},
    Bits{"q5_0", 5.5},
    Bits{"q5_1", 6.0},
    Bits{"q8_0", 8.5},
    Bits{"q8_1", 9.0},
    // 256 elements in 84, 110, 144, 176, 210, 292 bytes
    Bits{"q2_K", 2.625},
    Bits{"q3_K", 3.4375},
    Bits{"q4_K", 4.5},
    Bits{"q5_K", 5.5},
    Bits{"q6_K", 6.5625},
    Bits{"q8_K", 9.125},
    // 256 elements in 50, 56, 66, 74, 82, 98, 110, 136 bytes; iq4_nl: 32 in 18
    Bits{"iq1_s", 1.5625},
    Bits{"iq1_m", 1.75},
    Bits{"iq2_xxs", 2.0625},
    Bits{"iq2_xs", 2.3125},
    Bits{"iq2_s", 2.5625},
    Bits{"iq3_xxs", 3.0625},
    Bits{"iq3_s", 3.4375},
    Bits{"iq4_xs", 4.25},
    Bits{"iq4_nl", 4.5},
    // ternary: 256 elements in 54 and 66 bytes
    Bits{"tq1_0", 1.6875},
    Bits{"tq2_0", 2.0625},
    Bits{"q1_0", 1.125},
};

}  // namespace

TEST_CASE("every format stores its elements in the published number of bits, scales included") {
  for (const Bits& row : kExpected) {
    CAPTURE(row.name);
    const auto format = find_format(row.name);
    REQUIRE(format.has_value());
    CHECK(format->row().bits_per_element() == row.bits);
    CHECK(format->bytes_per_element() == row.bits / 8.0);
  }
}

TEST_CASE("a new format needs a row in this test") {
  CHECK(kExpected.size() == kNumberFormats.size());
  CHECK(format_names().size() == kNumberFormats.size());
}

TEST_CASE("names of formats and ids of GGUF types are unique") {
  std::set<std::string_view> names;
  std::set<int> ids;
  for (const NumberFormat& format : kNumberFormats) {
    CHECK(names.insert(format.name).second);
    if (format.ggml_type >= 0) CHECK(ids.insert(format.ggml_type).second);
  }
}

TEST_CASE("GGUF type ids are those of enum ggml_type") {
  // https://github.com/ggml-org/llama.cpp/blob/master/ggml/include/ggml.h
  CHECK(find_ggml_format(0)->name() == "fp32");
  CHECK(find_ggml_format(1)->name() == "fp16");
  CHECK(find_ggml_format(2)->name() == "q4_0");
  CHECK(find_ggml_format(8)->name() == "q8_0");
  CHECK(find_ggml_format(12)->name() == "q4_K");
  CHECK(find_ggml_format(14)->name() == "q6_K");
  CHECK(find_ggml_format(23)->name() == "iq4_xs");
  CHECK(find_ggml_format(30)->name() == "bf16");
  CHECK(find_ggml_format(39)->name() == "mxfp4");
  // 4 and 5 were removed formats.
  CHECK_FALSE(find_ggml_format(4).has_value());
  CHECK_FALSE(find_ggml_format(-1).has_value());
  CHECK_FALSE(find_ggml_format(1000).has_value());
}

TEST_CASE("the usual other spellings of a format are understood") {
  CHECK(find_format("bfloat16") == find_format("bf16"));
  CHECK(find_format("float16") == find_format("fp16"));
  CHECK(find_format("f16") == find_format("fp16"));
  CHECK(find_format("f32") == find_format("fp32"));
  CHECK(find_format("fp8") == find_format("fp8_e4m3"));
  CHECK(find_format("float8_e5m2") == find_format("fp8_e5m2"));
  CHECK(find_format("awq") == find_format("awq_g128"));
  CHECK_FALSE(find_format("fp7").has_value());
  CHECK_FALSE(find_format("").has_value());
  CHECK_FALSE(find_format("BF16").has_value());
}

TEST_CASE("formats that only compress weights compute at 16 bits") {
  for (const NumberFormat& format : kNumberFormats) {
    if (format.name.starts_with('q') || format.name.starts_with("iq"))
      CHECK(compute_kind_name(format.compute) == "fp16");
  }
  CHECK(compute_kind_name(find_format("fp8_block128")->row().compute) == "fp8");
  CHECK(compute_kind_name(find_format("nvfp4")->row().compute) == "fp4");
  CHECK(compute_kind_name(find_format("awq_g128")->row().compute) == "fp16");
}

TEST_CASE("a format that nobody chose is bf16") { CHECK(FormatId{}.name() == "bf16"); }
