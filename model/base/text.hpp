#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roofcast {

/// `text` as a screen may show it: control characters, which would move the cursor or change
/// colours, and bytes that are no UTF-8 are written as "\x1b". Text without them is unchanged.
std::string printable(std::string_view text);

/// The first `bytes` bytes of `text`, or up to three fewer where a character would be cut, and
/// "..." behind them; `text` itself when it is no longer.
std::string shortened(std::string_view text, std::size_t bytes);

}  // namespace roofcast
