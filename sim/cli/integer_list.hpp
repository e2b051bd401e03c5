#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// "64", "128k" (x 1000), "32Ki" (x 1024), "1M", "1Mi"; empty when the text is no whole number or
/// does not fit 62 bits.
std::optional<std::int64_t> parse_scaled_integer(std::string_view text);

/// No axis of a sweep has more values.
inline constexpr std::size_t kMaxAxisValues = 10'000'000;

/// Values of one axis: items separated by commas, each a number or a range. "1..64" doubles from 1
/// to 64, "1..100:x3" multiplies by 3, "1..100:+7" adds 7; a range ends at its last value that is
/// not above its end. The values keep their order. On error returns no values and says in `problem`
/// what is wrong, without naming the option.
std::vector<std::int64_t> parse_integer_list(std::string_view text, std::int64_t min,
                                             std::int64_t max, std::string& problem);

}  // namespace roofcast
