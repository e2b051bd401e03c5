#pragma once

#include <string>

#include "model/architecture/hf_reader.hpp"

namespace roofcast::detail {

/// Reports every key of `document` that the import did not use: known ones with their reason,
/// others with a warning. `path` is the name of the document in front of its keys. Throws SpecError
/// for a key that looks like a misspelling of one that the import looked for in vain: the default
/// that stood in for it would be a silent mistake.
void report_unused(const Document& document, const std::string& path, HfReport& report);

}  // namespace roofcast::detail
