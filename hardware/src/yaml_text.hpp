#pragma once

#include <string>
#include <string_view>

namespace roofcast {

/// "31.2 GB/s" for (31.2e9, "B/s"): the largest decimal prefix that keeps the number at or above 1,
/// with as many digits as it takes for `parse_quantity` to give the very same value.
std::string exact_quantity(double value, std::string_view unit);

/// `text` as a double-quoted YAML scalar.
std::string yaml_quoted(std::string_view text);

}  // namespace roofcast
