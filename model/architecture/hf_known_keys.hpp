#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/hf_decoder.hpp"

namespace roofcast::detail {

/// Why a key is left alone; empty for a key that nobody knows.
std::string_view reason_to_ignore(std::string_view key);

/// Refuses, by name, keys that change the model's shape whatever its kind.
void refuse_unsupported_keys(HfModel& model);

/// All keys that are left alone.
std::vector<std::string> ignored_names();

}  // namespace roofcast::detail
