#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace roofcast {

/// A unit prefix. The binary ones come first because "Ki" begins like "k" reads in lower case.
struct Prefix {
  std::string_view symbol;
  double factor;
};

/// The one prefix table of the program: what the spec reader accepts and what the printers use.
inline constexpr std::array kPrefixes = {
    Prefix{"Ki", 1024.0},
    Prefix{"Mi", 1048576.0},
    Prefix{"Gi", 1073741824.0},
    Prefix{"Ti", 1099511627776.0},
    Prefix{"Pi", 1125899906842624.0},
    Prefix{"n", 1e-9},
    Prefix{"u", 1e-6},
    Prefix{"m", 1e-3},
    Prefix{"k", 1e3},
    Prefix{"M", 1e6},
    Prefix{"G", 1e9},
    Prefix{"T", 1e12},
    Prefix{"P", 1e15},
    Prefix{"E", 1e18},
};

/// Parses "4.8 TB/s" with unit "B/s" to 4.8e12. Empty when number, prefix or unit does not fit.
/// The number must be finite and written in decimal ("1e3" is fine); blanks around the parts are
/// allowed. There are no parts of a byte or an operation: "3.35 mB/s" is a slip for MB/s, so units
/// of those take no prefix below 1. An empty `unit` accepts a plain number with an optional decimal
/// prefix-free form only.
std::optional<double> parse_quantity(std::string_view text, std::string_view unit);

/// Parses a finite decimal number that fills `text` whole (no hex, no inf, no nan, no blanks).
std::optional<double> parse_number(std::string_view text);

/// "3.35 TB/s" for (3.35e12, "B/s"): four significant digits and the largest decimal prefix that
/// keeps the number at or above 1, of those that `parse_quantity` takes. Zero prints without
/// prefix.
std::string format_si(double value, std::string_view unit);

/// "79.18 GiB" for 85019000000: like `format_si`, in powers of 1024, for capacities.
std::string format_binary_bytes(double bytes);

}  // namespace roofcast
