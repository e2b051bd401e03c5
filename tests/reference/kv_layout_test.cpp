#include "model/reference/kv_layout.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

Formats formats_of(const char* k, const char* v) {
  Formats formats;
  formats[Component::k] = storage_of(*find_format(k));
  formats[Component::v] = storage_of(*find_format(v));
  return formats;
}

TEST_CASE("K and V have a code and a scale each, by the formats of the spec") {
  CHECK(kv_layout(formats_of("bf16", "bf16"), {}) == KvLayout{});
  const KvLayout mixed = kv_layout(formats_of("fp8", "int8"), {.page_tokens = 48});
  CHECK(mixed.keys == KvPlane{KvCode::fp8_e4m3, 1.0F});
  CHECK(mixed.values == KvPlane{KvCode::int8, 0.0625F});
  CHECK(mixed.page_tokens == 48);
  const KvLayout scaled = kv_layout(formats_of("int8", "bf16"), {.k_scale = 0.1F, .v_scale = 3.0F});
  CHECK(scaled.keys == KvPlane{KvCode::int8, 0.1F});
  CHECK(scaled.values == KvPlane{});
}

TEST_CASE("formats without kernels are refused by name, and pages that no kernel walks") {
  std::string message;
  try {
    kv_layout(formats_of("bf16", "fp8_e5m2"), {});
  } catch (const UnsupportedError& error) {
    message = error.what();
  }
  CHECK(message.find("no kernel for v in fp8_e5m2 (bf16, fp8_e4m3 or int8)") != std::string::npos);
  CHECK_THROWS_AS(kv_layout(formats_of("q8_0", "bf16"), {}), UnsupportedError);
  CHECK_THROWS_AS(kv_layout({}, {.page_tokens = 24}), std::invalid_argument);
  CHECK_THROWS_AS(kv_layout({}, {.page_tokens = -16}), std::invalid_argument);
  CHECK_THROWS_AS(kv_layout({}, {.k_scale = -1.0F}), std::invalid_argument);
}

}  // namespace
}  // namespace roofcast
