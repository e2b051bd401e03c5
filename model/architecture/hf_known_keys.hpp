#pragma once

#include <string_view>

#include "model/architecture/hf_decoder.hpp"

namespace roofcast::detail {

/// Why a key is left alone; empty for a key that nobody knows.
std::string_view reason_to_ignore(std::string_view key);

/// Refuses, by name, keys that change the model's shape whatever its kind.
void refuse_unsupported_keys(HfModel& model);

/// Reports every key of `map` that the import did not use: known ones with their reason, others
/// with a warning.
void report_unused(const Value& map, const std::string& path, HfReport& report);

}  // namespace roofcast::detail
