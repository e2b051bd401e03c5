#pragma once

#include <cstdint>
#include <optional>

#include "model/architecture/formats.hpp"
#include "model/reference/cpu/kv_code.hpp"

namespace roofcast {

/// One half of a cache, K or V: an element is `scale` times what its code stands for.
struct KvPlane {
  KvCode code = KvCode::bf16;
  float scale = 1.0F;
  bool operator==(const KvPlane&) const = default;
};

/// How the caches of a model are stored.
struct KvLayout {
  KvPlane keys, values;
  std::int64_t page_tokens = 0;  // 0: the tokens of a sequence lie in order
  bool operator==(const KvLayout&) const = default;
};

/// What a spec's formats leave open. Scales are static, one for K and one for V as the formats
/// have it ("one scale per tensor"): nothing is stored with the tokens.
struct KvOptions {
  std::int64_t page_tokens = 0;  // a multiple of kTokenStep; 0: contiguous
  float k_scale = 0.0F;          // 0: the default of the code; unused in bf16
  float v_scale = 0.0F;
};

/// The code of a cache in this format; empty when the engine has none.
std::optional<KvCode> kv_code(const Storage& storage);

/// Scale that serves keys and values of any model whose projections keep the length of normalised
/// inputs: 1 for E4M3, as serving frameworks have it, and 1/16 for int8, which reaches to 7.9.
float default_kv_scale(KvCode code);

/// Throws UnsupportedError for formats without a code, and std::invalid_argument for scales below
/// zero and pages that are no multiple of kTokenStep tokens.
KvLayout kv_layout(const Formats& formats, const KvOptions& options);

}  // namespace roofcast
