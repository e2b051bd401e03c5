#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roofcast {

/// Bytes of the UTF-8 character at the start of `text`; 0 when there is none. Overlong forms,
/// surrogates and code points above U+10FFFF are none (RFC 3629).
std::size_t utf8_length(std::string_view text);

/// `text` with a "?" for each byte that is not part of a UTF-8 character: for texts that come from
/// elsewhere (names of files, GGUF metadata) and go into specs.
std::string valid_utf8(std::string_view text);

}  // namespace roofcast
