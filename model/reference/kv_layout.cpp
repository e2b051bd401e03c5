#include "model/reference/kv_layout.hpp"

#include <stdexcept>
#include <string>

#include "model/base/error.hpp"
#include "model/reference/cpu/kernels.hpp"

namespace roofcast {
namespace {

KvPlane plane(const Formats& formats, Component part, float scale) {
  const Storage& storage = formats[part];
  const std::optional<KvCode> code = kv_code(storage);
  if (!code)
    throw UnsupportedError("the reference engine has no kernel for " +
                           std::string(kComponentNames[static_cast<std::size_t>(part)]) + " in " +
                           std::string(storage.format.name()) + " (bf16, fp8_e4m3 or int8)");
  if (!(scale >= 0.0F)) throw std::invalid_argument("a scale of a cache is above zero");
  if (*code == KvCode::bf16) return {};
  return {*code, scale > 0.0F ? scale : default_kv_scale(*code)};
}

}  // namespace

std::optional<KvCode> kv_code(const Storage& storage) {
  if (storage == storage_of(*find_format("bf16"))) return KvCode::bf16;
  if (storage == storage_of(*find_format("fp8_e4m3"))) return KvCode::fp8_e4m3;
  if (storage == storage_of(*find_format("int8"))) return KvCode::int8;
  return std::nullopt;
}

float default_kv_scale(KvCode code) { return code == KvCode::int8 ? 0.0625F : 1.0F; }

KvLayout kv_layout(const Formats& formats, const KvOptions& options) {
  if (options.page_tokens < 0 || options.page_tokens % kTokenStep != 0)
    throw std::invalid_argument("pages of a cache hold a multiple of 16 tokens");
  return {plane(formats, Component::k, options.k_scale),
          plane(formats, Component::v, options.v_scale), options.page_tokens};
}

}  // namespace roofcast
