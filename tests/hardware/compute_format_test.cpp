#include "hardware/src/compute_format.hpp"

#include <doctest/doctest.h>

namespace roofcast {
namespace {

TEST_CASE("every compute format is found by its name") {
  for (std::size_t i = 0; i < kComputeFormats; ++i) {
    const auto format = static_cast<ComputeFormat>(i);
    CHECK(find_compute_format(compute_format_name(format)) == format);
  }
  CHECK_FALSE(find_compute_format("bf16_sparse").has_value());
}

TEST_CASE("each substitute chain starts with the format itself") {
  for (std::size_t i = 0; i < kComputeFormats; ++i) {
    const auto format = static_cast<ComputeFormat>(i);
    CHECK(fallback_formats(format).front() == format);
  }
}

TEST_CASE("floats never fall back to integers, nor integers to other integers") {
  for (std::size_t i = 0; i < kComputeFormats; ++i) {
    const auto& chain = fallback_formats(static_cast<ComputeFormat>(i));
    for (std::size_t j = 1; j < chain.size(); ++j) {
      CHECK(chain[j] != ComputeFormat::int8);
      CHECK(chain[j] != ComputeFormat::int4);
    }
  }
}

TEST_CASE("operands of one byte or less are narrow") {
  CHECK_FALSE(is_narrow(ComputeFormat::bf16));
  CHECK_FALSE(is_narrow(ComputeFormat::fp32));
  for (const auto format : {ComputeFormat::fp8, ComputeFormat::int8, ComputeFormat::fp6,
                            ComputeFormat::fp4, ComputeFormat::int4})
    CHECK(is_narrow(format));
}

TEST_CASE("kinds of operands map to the format of the same name") {
  for (const auto kind : {ComputeKind::fp32, ComputeKind::fp16, ComputeKind::bf16, ComputeKind::fp8,
                          ComputeKind::int8, ComputeKind::fp4})
    CHECK(compute_format_name(compute_format(kind)) == compute_kind_name(kind));
}

}  // namespace
}  // namespace roofcast
